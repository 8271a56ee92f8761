import { expect, test } from 'vitest'
import type { NamedOperation } from '../core/operation.ts'
import { RawBody, type PublicCaching, type Reply } from '../core/reply.ts'
import type { HttpExchange } from './exchange.ts'
import { ReadyReplies } from './ready-replies.ts'

const plain = { method: 'GET', access: 'public', etag: true, limit: 'none' }
const exchange = (query = '', headers: object = {}) =>
  ({ query, headers: { authorization: '', apiKey: '', ...headers } }) as HttpExchange

function replyOf(content: string | Uint8Array, caching: Partial<PublicCaching> = {}): Reply {
  const body = new RawBody('text/css', content, { etag: 'e1', control: 'public', isFresh: () => true, ...caching })
  return { status: 200, body, headers: { Vary: 'Accept' } }
}

test.each<[what: string, changes: object, isKept: boolean]>([
  ['a public GET with an ETag and without a rate limit', {}, true],
  ['a POST', { method: 'POST' }, false],
  ['an operation for users', { access: 'user' }, false],
  ['an ETag for edits only', { etag: 'edits' }, false],
  ['a rate limit', { limit: 'read' }, false],
  ['a step before the reply', { before: () => undefined }, false],
  ['a cookie', { cookie: 'session' }, false],
  ['a token of another system', { bearer: 'own' }, false],
  ['a signature', { signature: 'x-signature' }, false],
  ['a ticket', { ticket: 'ticket' }, false],
  ['a signed URL', { link: true }, false],
  ['a file', { upload: {} }, false],
])('keeps replies of %s: %s', (_what, changes, isKept) => {
  expect(ReadyReplies.of({ ...plain, ...changes } as unknown as NamedOperation) !== undefined).toBe(isKept)
})

test('a reply is found by path and query, with its headers', () => {
  const replies = new ReadyReplies()
  replies.keep(exchange('v=1'), ['a', 'b'], replyOf('body{}'))
  const found = replies.find(exchange('v=1'), ['a', 'b'])
  expect(Buffer.from(found!.bytes).toString()).toBe('body{}')
  expect(found!.head).toBe('\r\nVary: Accept\r\nETag: "e1"\r\nCache-Control: public\r\nContent-Type: text/css')
  for (const [query, parameters] of [
    ['v=2', ['a', 'b']],
    ['', ['a', 'b']],
    ['v=1', ['a']],
    ['v=1', []],
  ] as const) {
    expect(replies.find(exchange(query), parameters)).toBeUndefined()
  }
  replies.keep(exchange('v=1'), [], replyOf(Buffer.from('bytes')))
  expect(Buffer.from(replies.find(exchange('v=1'), [])!.bytes).toString()).toBe('bytes')
})

test('a request with a credential gets no ready reply', () => {
  const replies = new ReadyReplies()
  replies.keep(exchange(), [], replyOf('x'))
  expect(replies.find(exchange('', { authorization: 'Bearer x' }), [])).toBeUndefined()
  expect(replies.find(exchange('', { apiKey: 'x' }), [])).toBeUndefined()
  expect(replies.find(exchange(), [])).toBeDefined()
})

test('all replies are dropped once one of them is not fresh any more', () => {
  const replies = new ReadyReplies()
  let isFresh = true
  for (const query of ['a', 'b']) replies.keep(exchange(query), [], replyOf(query, { isFresh: () => isFresh }))
  isFresh = false
  expect(replies.find(exchange('a'), [])).toBeUndefined()
  isFresh = true
  expect(replies.find(exchange('b'), [])).toBeUndefined()
})

test('replies that can change, errors and long requests are not kept', () => {
  const replies = new ReadyReplies()
  const keep = (reply: Reply, query = 'q') => {
    replies.keep(exchange(query), [], reply)
    return replies.find(exchange(query), []) !== undefined
  }
  expect(keep({ ...replyOf('x'), status: 404 })).toBe(false)
  expect(keep({ status: 200, body: { status: true } })).toBe(false)
  expect(keep({ status: 200, body: new RawBody('text/css', 'x') })).toBe(false)
  const { isFresh: _, ...rest } = { etag: 'e1', control: 'public', isFresh: () => true }
  expect(keep({ status: 200, body: new RawBody('text/css', 'x', rest) })).toBe(false)
  expect(keep(replyOf('x'), 'q'.repeat(301))).toBe(false)
  expect(keep(replyOf('x'), 'q'.repeat(300))).toBe(true)
})

test('a thousand replies are kept, and then only the newest', () => {
  const replies = new ReadyReplies()
  for (let index = 0; index < 1_000; index += 1) replies.keep(exchange(`${index}`), [], replyOf('x'))
  expect(replies.find(exchange('0'), [])).toBeDefined()
  replies.keep(exchange('1000'), [], replyOf('x'))
  expect([replies.find(exchange('0'), []), replies.find(exchange('999'), [])]).toEqual([undefined, undefined])
  expect(replies.find(exchange('1000'), [])).toBeDefined()
})
