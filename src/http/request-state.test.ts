import { expect, test } from 'vitest'
import { MainThread } from '../core/main-thread.ts'
import type { NamedOperation } from '../core/operation.ts'
import type { CompiledOperation } from './compiled-operation.ts'
import type { Exchange } from './exchange.ts'
import { RequestState } from './request-state.ts'

const NONE = { authorization: '', requestId: '', userAgent: '', idempotencyKey: '', ifMatch: '' }

function stateOf(headers: Partial<typeof NONE>, op: Partial<NamedOperation> = {}, extra: Record<string, string> = {}) {
  const exchange = { headers: { ...NONE, ...headers }, remoteAddress: '192.0.2.7', http: { extra } }
  const compiled = { op: { method: 'POST', ...op } }
  const thread = new MainThread({ onHeld: () => undefined })
  return new RequestState(compiled as unknown as CompiledOperation, exchange as unknown as Exchange, [], thread)
}

test('the id of a request is that of the client if it is short and plain', () => {
  for (const id of ['a', 'a_B-9', 'x'.repeat(128)]) expect(stateOf({ requestId: id }).requestId).toBe(id)
  for (const id of ['', 'a b', 'ä', 'x'.repeat(129)]) expect(stateOf({ requestId: id }).requestId).toMatch(/^req_\w+$/)
})

test('the first 300 characters of the user agent are kept', () => {
  expect(stateOf({ userAgent: 'x'.repeat(301) }).userAgent).toBe('x'.repeat(300))
})

test('a bearer token is one word', () => {
  const bearer = (authorization: string) => stateOf({ authorization }).bearer
  expect([bearer('Bearer abc'), bearer('bearer  abc')]).toEqual(['abc', 'abc'])
  expect([bearer(''), bearer('Basic abc'), bearer('Bearer a b')]).toEqual([undefined, undefined, undefined])
})

test('the cookie that an operation declares is found by its whole name', () => {
  const cookie = (text: string, name?: string) =>
    stateOf({}, name === undefined ? {} : { cookie: name }, { cookie: text }).cookie
  expect(cookie('a=1; session=x=y;b=2', 'session')).toBe('x=y')
  expect(cookie('session=', 'session')).toBe('')
  expect([cookie('mysession=x', 'session'), cookie('', 'session')]).toEqual([undefined, undefined])
  expect(cookie('session=x')).toBeUndefined()
  expect(stateOf({}, { cookie: 'session' }).cookie).toBeUndefined()
})

test('the signature that an operation declares is found by its header', () => {
  const signed = { signature: 'x-signature' } as const
  expect(stateOf({}, signed, { 'x-signature': 'abc' }).signature).toBe('abc')
  expect([stateOf({}, signed, { 'x-signature': '' }).signature, stateOf({}, signed).signature]).toEqual([
    undefined,
    undefined,
  ])
  expect(stateOf({}, {}, { 'x-signature': 'abc' }).signature).toBeUndefined()
})

test('a POST with an idempotency key is keyed', () => {
  expect(stateOf({ idempotencyKey: 'once' }).isKeyed).toBe(true)
  expect(stateOf({}).isKeyed).toBe(false)
  expect(stateOf({ idempotencyKey: 'once' }, { method: 'PATCH' }).isKeyed).toBe(false)
})
