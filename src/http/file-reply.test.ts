import { expect, test } from 'vitest'
import { readRange } from './file-reply.ts'

test.each([
  ['bytes=0-0', 10, { start: 0, end: 0 }],
  ['bytes=2-5', 10, { start: 2, end: 5 }],
  ['bytes=2-', 10, { start: 2, end: 9 }],
  ['bytes=9-', 10, { start: 9, end: 9 }],
  ['bytes=2-99', 10, { start: 2, end: 9 }],
  ['bytes=-3', 10, { start: 7, end: 9 }],
  ['bytes=-10', 10, { start: 0, end: 9 }],
  ['bytes=-99', 10, { start: 0, end: 9 }],
  [' BYTES=2-5 ', 10, { start: 2, end: 5 }],
])('%j of a file of %d bytes is the range %j', (header, size, range) => {
  expect(readRange(header, size)).toEqual(range)
})

test.each([
  ['bytes=10-', 10],
  ['bytes=10-12', 10],
  ['bytes=-0', 10],
  ['bytes=0-', 0],
  ['bytes=-1', 0],
])('%j of a file of %d bytes cannot be satisfied', (header, size) => {
  expect(readRange(header, size)).toBe('unsatisfiable')
})

test.each(['', 'bytes=-', 'bytes=5-2', 'bytes=0-1,3-4', 'items=0-1', 'bytes=a-b', 'bytes 0-1'])(
  '%j is not a range, so the whole file is sent',
  (header) => {
    expect(readRange(header, 10)).toBeUndefined()
  },
)
