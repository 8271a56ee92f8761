import { expect, test } from 'vitest'
import type { SocketClient } from '../core/socket-calls.ts'
import { SocketExchange } from './socket-exchange.ts'

const client = {
  credential: { kind: 'token', token: 'a.b.c' },
  remoteAddress: '192.0.2.7',
  userAgent: 'a test',
} as SocketClient

test('the query of a call is written like that of a URL, without fields that are undefined', () => {
  const query = { text: 'a b', none: undefined, limit: 2, archived: false, tags: ['x', 'y'] }
  const exchange = new SocketExchange(
    { query, body: undefined, idempotencyKey: '', ifMatch: '', requestId: '' },
    client,
  )
  expect(exchange.query).toBe('text=a+b&limit=2&archived=false&tags=x&tags=y')
})
