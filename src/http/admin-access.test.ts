import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { AdminAccess } from './admin-access.ts'

function statusOf(access: AdminAccess, headers: IncomingMessage['headers'], path = '/metrics') {
  return access.refuse({ headers } as IncomingMessage, path)?.status
}

test('a host is allowed as an address, as localhost or by its name, with any port', () => {
  const access = new AdminAccess({ token: undefined, names: ['Ops.Example'] })
  for (const host of ['127.0.0.1', '127.0.0.1:9090', '[::1]:9090', '[2001:db8::1]', 'localhost:9090', 'LOCALHOST']) {
    expect(statusOf(access, { host }), host).toBeUndefined()
  }
  expect(statusOf(access, { host: 'ops.example:9090' })).toBeUndefined()
  for (const host of ['evil.example', 'ops.example.evil.example', 'localhost.evil.example:9090', '']) {
    expect(statusOf(access, { host }), host).toBe(421)
  }
  expect(statusOf(access, {})).toBe(421)
})

test('every page but the health check needs the token, as a bearer token or as a password', () => {
  const access = new AdminAccess({ token: 'open:sesame', names: [] })
  const host = 'localhost'
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  expect(access.refuse({ headers: { host } } as IncomingMessage, '/metrics')).toMatchObject({
    status: 401,
    headers: { 'WWW-Authenticate': expect.stringContaining('Basic') },
  })
  expect(statusOf(access, { host }, '/healthz')).toBeUndefined()
  expect(statusOf(access, { host }, '/healthz/')).toBe(401)
  for (const authorization of [
    'Bearer open:sesame',
    'bearer  open:sesame',
    basic('admin:open:sesame'),
    basic(':open:sesame'),
  ]) {
    expect(statusOf(access, { host, authorization }), authorization).toBeUndefined()
    // A page of another site cannot know the token.
    expect(statusOf(access, { host: 'evil.example', authorization }), authorization).toBeUndefined()
  }
  for (const authorization of [
    'Bearer sesame',
    'open:sesame',
    'Digest open:sesame',
    basic('open:sesame'),
    'Bearer ',
    '',
  ]) {
    expect(statusOf(access, { host, authorization }), authorization).toBe(401)
  }
  expect(statusOf(access, { host: 'evil.example' }, '/healthz')).toBe(421)
})

test('without a token, no credential opens a page for another host', () => {
  const access = new AdminAccess({ token: undefined, names: [] })
  expect(statusOf(access, { host: 'evil.example', authorization: 'Bearer undefined' })).toBe(421)
  expect(statusOf(access, { host: 'evil.example', authorization: 'Bearer ' })).toBe(421)
})
