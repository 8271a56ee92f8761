import { expect, it } from 'vitest'
import { SealedStream } from './sealed-stream.ts'

const SECRET = 'a secret of these tests, long enough'
const texts = Array.from({ length: 100 }, (_, index) => Buffer.from(`${index} ${'long'.repeat(index % 13)}`))

it('opens every text, in any order, also in another process with the same secret', () => {
  const [one, other] = [new SealedStream(SECRET, 'tests'), new SealedStream(SECRET, 'tests')]
  other.seal(Buffer.from('to be elsewhere'))
  const sealed = texts.map((text) => one.seal(text)).toReversed()
  expect(sealed.map((text) => other.open(text).toString()).toReversed()).toEqual(texts.map(String))
})

it('hides the text and whether two texts are equal, and cannot be opened for another purpose', () => {
  const [one, other] = [new SealedStream(SECRET, 'tests'), new SealedStream(SECRET, 'something else')]
  const [first, second] = [one.seal(Buffer.from('hush hush')), one.seal(Buffer.from('hush hush'))]
  expect(first.subarray(16)).not.toEqual(second.subarray(16))
  expect(Buffer.concat([first, second]).includes('hush')).toBe(false)
  expect(other.open(first).toString()).not.toBe('hush hush')
})
