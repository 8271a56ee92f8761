import { expect, test } from 'vitest'
import { SealedBox, UnsealError } from './sealed-box.ts'

const box = new SealedBox('a secret of tests', 'tests')

test.each(['', 'x', 'schlüssel 🔑', 'a'.repeat(10_000)])('opens what it sealed (%#)', (text) => {
  expect(box.open(box.seal(text))).toBe(text)
})

test('the same text is sealed differently each time, and is not readable', () => {
  const [one, other] = [box.seal('hunter2'), box.seal('hunter2')]
  expect(one).not.toBe(other)
  expect(Buffer.from(one, 'base64url').toString('latin1')).not.toContain('hunter2')
})

test('a change of any byte is noticed', () => {
  const sealed = box.sealBytes(Buffer.from('hunter2'))
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed)
    changed[index] = (changed[index] as number) ^ 1
    expect(() => box.openBytes(changed), String(index)).toThrow(UnsealError)
  }
  expect(() => box.openBytes(sealed.subarray(0, -1))).toThrow(UnsealError)
  expect(() => box.open('')).toThrow(UnsealError)
})

test('neither another secret nor another purpose opens it', () => {
  const sealed = box.seal('hunter2')
  expect(() => new SealedBox('another secret', 'tests').open(sealed)).toThrow(UnsealError)
  expect(() => new SealedBox('a secret of tests', 'others').open(sealed)).toThrow(UnsealError)
})
