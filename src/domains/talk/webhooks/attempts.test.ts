import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../../core/clock.ts'
import { SealedBox } from '../../../tools/sealed-box.ts'
import { Outgoing, type OutgoingRequest } from '../../../fetch/outgoing.ts'
import type { TargetRules } from '../../../fetch/target.ts'
import { Attempts, delayAfter, RETRY_MS } from './attempts.ts'
import { testMessage } from './message.ts'
import { newSecret } from './signatures.ts'
import type { WebhookRow } from './tables.ts'

/** Attempts at a real server on 127.0.0.1, which stands for a public address in these tests. 127.0.0.2 is private. */

const clock = new ManualClock()
const secrets = new SealedBox('a secret for tests', 'webhook secrets')
const message = testMessage('workspace', 'webhook', 'delivery', new Date(clock.now()).toISOString())

let server: Server
/** What the server replies; undefined for no reply. */
let reply: { status: number; headers: Record<string, string>; body: string } | undefined
const asked: string[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.headers.host} ${request.url}`)
    if (reply !== undefined) response.writeHead(reply.status, reply.headers).end(reply.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  reply = { status: 204, headers: {}, body: '' }
  asked.length = 0
})

const port = () => (server.address() as AddressInfo).port

/** Sends one message. */
async function attempt(url: string, rules: TargetRules) {
  const outgoing = new Outgoing(rules)
  try {
    return await send(outgoing, url)
  } finally {
    outgoing.close()
  }
}

function send(outgoing: Outgoing, url: string) {
  const webhook = { url, secretSealed: secrets.seal(newSecret()), previousSecretUntil: null } as WebhookRow
  return new Attempts(outgoing, clock, secrets).send(webhook, message, new AbortController().signal)
}

const check: TargetRules['check'] = (address) =>
  address === '127.0.0.1' ? { allowed: true } : { allowed: false, reason: 'a private network' }

describe('an endpoint', () => {
  test.each([
    'http://127.0.0.1/',
    'http://localhost/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://10.1.2.3/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
  ])('at %s gets nothing', async (url) => {
    const result = await attempt(url, {})
    expect(result).toMatchObject({ ok: false, httpStatus: null, error: expect.stringContaining('not allowed') })
  })

  test('at a port of another service gets nothing', async () => {
    expect((await attempt('http://192.0.2.1:22/', {})).error).toContain('port 22 is not allowed')
  })

  test('whose name has a private address besides gets messages at its public one only', async () => {
    const rules: TargetRules = { ports: 'any', check, resolve: async () => ['127.0.0.2', '127.0.0.1'] }
    expect(await attempt(`http://both.test:${port()}/`, rules)).toMatchObject({ ok: true, httpStatus: 204 })
    expect(asked).toEqual([`both.test:${port()} /`])
  })

  test('whose name changes to a private address gets nothing more, not even on an open connection', async () => {
    const addresses = [['127.0.0.1'], ['127.0.0.2']]
    const lookups: string[] = []
    const resolve = async (host: string) => {
      lookups.push(host)
      return addresses[lookups.length - 1] ?? []
    }
    const outgoing = new Outgoing({ ports: 'any', check, resolve })
    const url = `http://rebind.test:${port()}/`
    // One lookup for each message. The connection uses its result, so a second lookup cannot return another address.
    expect((await send(outgoing, url)).ok).toBe(true)
    expect(lookups).toHaveLength(1)
    expect(await send(outgoing, url)).toMatchObject({ ok: false, error: expect.stringContaining('private network') })
    expect(asked).toHaveLength(1)
    outgoing.close()
  })

  test.each([301, 302, 303, 307, 308])('that redirects with %i is not followed', async (status) => {
    reply = { status, headers: { location: `http://127.0.0.1:${port()}/elsewhere` }, body: '' }
    const result = await attempt(`http://127.0.0.1:${port()}/`, { ports: 'any', check })
    expect(result).toMatchObject({ ok: false, httpStatus: status, error: expect.stringContaining('not followed') })
    expect(asked).toHaveLength(1)
  })

  test('gets 10 seconds, and 10,000 bytes of its reply are kept', async () => {
    reply = { status: 200, headers: {}, body: 'x'.repeat(1_000_000) }
    const timeouts: number[] = []
    const outgoing = new Outgoing({ ports: 'any', check })
    const watched = {
      send: (request: OutgoingRequest) => {
        timeouts.push(request.timeoutMs)
        // Shorter for the second one, whose reply never comes.
        return outgoing.send({ ...request, timeoutMs: request.timeoutMs / (timeouts.length === 1 ? 1 : 100) })
      },
    } as Outgoing
    const url = `http://127.0.0.1:${port()}/`
    expect((await send(watched, url)).responseBody).toHaveLength(10_000)
    reply = undefined
    expect((await send(watched, url)).error).toContain('did not respond within 0.1 s')
    expect(timeouts).toEqual([10_000, 10_000])
    outgoing.close()
  })
})

test.each([
  [503, '120', 120_000],
  [429, 'Sun, 01 Nov 2026 12:01:00 GMT', 60_000],
  [500, 'later', 0],
  [503, '-5', 0],
  [503, '99999999', 12 * HOUR],
  [200, '120', 0],
])('a reply of %i with Retry-After %j asks to wait %i ms', async (status, header, waitMs) => {
  reply = { status, headers: { 'retry-after': header }, body: '' }
  const result = await attempt(`http://127.0.0.1:${port()}/`, { ports: 'any', check })
  expect(result.waitMs).toBe(waitMs)
})

test('the delays grow, and about 14 attempts are made within three days', () => {
  const middle = () => 0.5
  const delays: number[] = []
  for (let sum = 0; sum < RETRY_MS; sum += delays.at(-1) ?? 0) delays.push(delayAfter(delays.length + 1, middle))
  expect(delays).toEqual(delays.toSorted((a, b) => a - b))
  expect(delays.length).toBeGreaterThan(12)
  expect(delays.length).toBeLessThan(18)
  expect([delayAfter(1, () => 0), delayAfter(1, () => 1)]).toEqual([4_000, 6_000])
})
