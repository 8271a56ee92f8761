import { expect, test } from 'vitest'
import { ClientHandshake } from './client-handshake.ts'
import { RtmpProtocolError } from './errors.ts'

const server = Buffer.concat([Buffer.of(3), Buffer.alloc(1536, 1), Buffer.alloc(1536, 2), Buffer.from('rest')])

test.each([1, 7, 1536, 1537, 5_000])('sends C2 once and finds the end of S2, reading %i bytes at a time', (step) => {
  const handshake = new ClientHandshake()
  expect(handshake.hello()).toHaveLength(1537)
  const replies: Buffer[] = []
  let rest: Buffer | null = null
  let taken = 0
  while (rest === null) {
    const part = handshake.push(server.subarray(taken, taken + step))
    replies.push(part.reply)
    rest = part.rest
    taken += step
  }
  expect(Buffer.concat(replies).equals(Buffer.alloc(1536, 1))).toBe(true)
  expect('rest'.startsWith(rest.toString())).toBe(true)
})

test('rejects another protocol by its first byte', () => {
  expect(() => new ClientHandshake().push(Buffer.from('HTTP/1.1 400'))).toThrow(RtmpProtocolError)
})
