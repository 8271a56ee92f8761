import { expect, it } from 'vitest'
import { jsonCodec } from './ports.ts'

const across = (kind: 'payload' | 'value' | 'error', data: unknown) =>
  jsonCodec.decode(kind, jsonCodec.encode(kind, data))

it('carries plain data, and undefined', () => {
  expect(across('value', { a: [1, null, 'ü'] })).toEqual({ a: [1, null, 'ü'] })
  expect(across('payload', undefined)).toBeUndefined()
  expect(jsonCodec.encode('value', undefined)).toBe('')
})

it('carries the name and message of errors and of other thrown values', () => {
  const error = across('error', new RangeError('too far'))
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({ name: 'RangeError', message: 'too far' })
  expect(across('error', 'text')).toMatchObject({ name: 'Error', message: 'text' })
})
