import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { RATE_LIMITS } from '../../src/core/limits.ts'
import type { App } from '../support/app.ts'
import type { Reply } from '../support/send.ts'
import { startProbe } from '../support/probe.ts'
import { exchangeBytes } from '../support/raw-http.ts'

const clock = new ManualClock()
let app: App

beforeAll(async () => {
  ;({ app } = await startProbe({ rateLimits: true, clock, env: { TRUST_PROXY: '1' } }))
})
afterAll(() => app?.stop())

const write = (token: string) => app.send('POST /api/probe/secret', { token })
const mail = (address: string, token?: string) =>
  app.send('POST /api/probe/mail', { headers: { 'X-Forwarded-For': address }, token })

async function spend(times: number, send: () => Promise<Reply>): Promise<Reply[]> {
  const replies: Reply[] = []
  for (let sent = 0; sent < times; sent += 1) replies.push(await send())
  return replies
}

function limitHeaders(reply: Reply) {
  const { headers } = reply
  const [, left, seconds] = /^"\w+";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? []
  return {
    status: reply.status,
    policy: headers.get('ratelimit-policy'),
    left: Number(left),
    seconds: Number(seconds),
  }
}

test('sends the limit and the remaining requests in headers, then 429 with Retry-After', async () => {
  const { burst, windowSeconds } = RATE_LIMITS.write
  const replies = await spend(burst, () => write('ada'))
  expect(limitHeaders(replies[0] as Reply)).toEqual({
    status: 200,
    policy: `"write";q=${burst};w=${windowSeconds}`,
    left: burst - 1,
    seconds: expect.any(Number),
  })
  expect(replies.map((reply) => limitHeaders(reply).left)).toEqual(replies.map((_answer, index) => burst - 1 - index))
  const over = await write('ada')
  expect([over.status, over.body.code]).toEqual([429, 'rate_limited'])
  expect(limitHeaders(over)).toMatchObject({ left: 0 })
  expect(Number(over.headers.get('retry-after'))).toBe(1)
  expect(over.body.message).toContain(`${burst} write requests in ${windowSeconds} seconds`)
})

test('counts each caller and class separately', async () => {
  expect((await write('bob')).status).toBe(200)
  expect((await app.send('GET /api/services', { token: 'ada' })).status).toBe(200)
})

test('refills in proportion to time', async () => {
  const { burst, windowSeconds } = RATE_LIMITS.write
  clock.advance(2 * SECOND)
  const replies = await spend(11, () => write('ada'))
  const perSecond = burst / windowSeconds
  expect(replies.filter((reply) => reply.status === 200)).toHaveLength(2 * perSecond)
  expect(replies.at(-1)?.status).toBe(429)
  clock.advance(5 * MINUTE)
  expect(limitHeaders(await write('ada')).left).toBe(burst - 1)
})

test('counts mail requests by client address, and trusts only the configured proxy', async () => {
  const { burst } = RATE_LIMITS.mail
  await spend(burst, () => mail('198.51.100.1'))
  expect((await mail('198.51.100.1')).status).toBe(429)
  expect((await mail('198.51.100.1', 'ada')).status).toBe(429)
  expect((await mail('198.51.100.2')).status).toBe(200)
  // Entries that the client sends precede the one that the proxy adds.
  expect((await mail('198.51.100.9, 198.51.100.1')).status).toBe(429)
})

test('counts an IPv6 /64 as one address, regardless of port and spelling', async () => {
  const { burst } = RATE_LIMITS.mail
  for (let sent = 0; sent < burst; sent += 1) await mail(`[2001:db8:7:7::${sent.toString(16)}]:${4_000 + sent}`)
  expect((await mail('2001:db8:7:7:ffff::1')).status).toBe(429)
  expect((await mail('2001:db8:7:8::1')).status).toBe(200)
  expect((await mail('198.51.100.1:4711')).status).toBe(429)
  expect((await mail('::ffff:198.51.100.1')).status).toBe(429)
})

test('counts an invalid address as the proxy’s own', async () => {
  const { burst } = RATE_LIMITS.mail
  for (let sent = 0; sent < burst; sent += 1) await mail(`rubbish-${sent}`)
  expect((await mail('another-rubbish')).status).toBe(429)
  expect((await mail('127.0.0.1')).status).toBe(429)
})

test('uses the last X-Forwarded-For header, which the proxy added', async () => {
  const { burst } = RATE_LIMITS.mail
  const twoHeaders = (spoofed: string) =>
    exchangeBytes(
      app.port,
      `POST /api/probe/mail HTTP/1.1\r\nHost: crier\r\nX-Forwarded-For: ${spoofed}\r\nX-Forwarded-For: 198.51.100.77\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    )
  for (let sent = 0; sent < burst; sent += 1) await twoHeaders(`203.0.113.${sent}`)
  expect(await twoHeaders('203.0.113.200')).toContain(' 429 ')
})

test('does not count rejected credentials or health checks', async () => {
  const before = limitHeaders(await write('carol')).left
  await spend(5, () => app.send('POST /api/probe/secret'))
  expect(limitHeaders(await write('carol')).left).toBe(before - 1)
  expect((await app.send('GET /api/health')).headers.get('ratelimit')).toBeNull()
})
