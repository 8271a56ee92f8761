import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { fetchJson } from '../../src/domains/identity/auth/providers/provider-http.ts'
import { plain } from '../../src/domains/media/ai/transcripts/segments.ts'
import { Outgoing } from '../../src/fetch/outgoing.ts'
import { CircuitBreaker } from '../../src/platforms/http/circuit-breaker.ts'
import { PlatformHttp } from '../../src/platforms/http/platform-http.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { World } from '../support/world.ts'

/**
 * Text that does not come through the validator of JSON requests: mail, CSV, names of files, replies of platforms and of
 * sign-in providers, headers, texts of models. None of it may fail later because PostgreSQL cannot store it.
 */

const codes = [...Array.from({ length: 32 }, (_, code) => code), 0x7f, 0x80, 0x9f, 0xd8_00, 0xdc_00, 0xff_fe, 0xff_ff]
const HOSTILE: readonly (readonly [name: string, text: string])[] = [
  ...codes.map((code) => [`U+${code.toString(16).padStart(4, '0')}`, `a${String.fromCharCode(code)}b`] as const),
  ['a line of 1 MB', 'x'.repeat(1_000_000)],
]

/** What no stored or passed text may contain. */
// oxlint-disable-next-line no-control-regex
const UNUSABLE = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F\uFFFE\uFFFF]/
const isUsable = (text: string) => text.isWellFormed() && !UNUSABLE.test(text)

const SECRET = 'a-secret-of-the-mail-server-long-enough'
const ADDRESS = 'support@crier.test'
const SERVER = 'mx.crier.test'
let app: App
let world: World
let server: Server
let url: string
let answer = ''

beforeAll(async () => {
  app = await startApp({
    env: { SUPPORT_ADDRESS: ADDRESS, SUPPORT_AUTHSERV_ID: SERVER, SUPPORT_INBOUND_SECRET: SECRET },
  })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  server = createServer((_request, reply) => reply.setHeader('Content-Type', 'application/json').end(answer))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server?.close()
  await app?.stop()
})

describe.each(HOSTILE)('%s', (_name, text) => {
  let sent = 0
  const takeMail = async (raw: Buffer) => {
    const headers = { 'Content-Type': 'message/rfc822' }
    return app.send('POST /api/support/inbound-mail', { token: SECRET, headers, body: raw })
  }

  test('in a mail', async () => {
    const { email } = await world.user('ada')
    const id = `<${text.codePointAt(1)?.toString(16)}-${(sent += 1)}@mail.test>`
    const word = `=?utf-8?B?${Buffer.from(text.slice(0, 40)).toString('base64')}?=`
    for (const [subject, body] of [
      [text.slice(0, 900), text],
      [word, `=?x?=\r\n${text}`],
    ] as const) {
      const from = `From: "${word}" <${email}>`
      const lines = [
        `Authentication-Results: ${SERVER}; dmarc=pass`,
        from,
        `To: ${ADDRESS}`,
        `Subject: ${subject}`,
        `Message-ID: ${body.length}${id}`,
        '',
        body,
      ]
      const reply = await takeMail(Buffer.from(lines.join('\r\n')))
      expect([200, 400], reply.text).toContain(reply.status)
      if (reply.body.data?.ticketId === undefined || reply.body.data.ticketId === null) continue
      const found = await world.as('ada').call('GET /api/support/tickets/{id}', {
        path: { id: reply.body.data.ticketId },
      })
      expect(found.body.data.messages.every(({ content }: { content: string }) => isUsable(content))).toBe(true)
      expect(isUsable(found.body.data.subject)).toBe(true)
    }
  })

  test('in a CSV file', async () => {
    for (const file of [
      `content\r\n"${text}"\r\n`,
      `content,${text}\r\nx,y\r\n`,
      `content,options\r\nx,"{""a"":""${text}""}"`,
    ]) {
      const reply = await world.as('ada').call('POST /api/posts/import', {
        body: { workspaceId: world.id('acme') },
        file: { name: 'posts.csv', content: Buffer.from(file) },
      })
      expect(reply.status, reply.text.slice(0, 500)).toBeLessThan(500)
      if (reply.status !== 201) continue
      const { data } = (
        await world.as('ada').call('GET /api/posts', { query: { workspaceId: world.id('acme'), limit: 1 } })
      ).body
      expect(isUsable(data[0].content)).toBe(true)
    }
  })

  test('in the name of a file', async () => {
    const reply = await world.as('ada').call('POST /api/assets/upload', {
      body: { workspaceId: world.id('acme') },
      file: { name: `${text.slice(0, 300)}.png`, content: PIXEL },
    })
    expect(reply.status, reply.text).toBeLessThan(500)
    if (reply.status === 201) expect(isUsable(reply.body.data.name)).toBe(true)
  })

  test('in a header', async () => {
    const { email, password } = await world.user('ada')
    const agent = Buffer.from(text.slice(0, 300)).toString('latin1')
    const headers = { 'User-Agent': agent, 'Accept-Language': agent, 'X-Request-Id': agent }
    let status = 0
    try {
      status = (await app.send('POST /api/auth/login', { body: { email, password }, headers })).status
    } catch {
      // The client does not send such a header.
    }
    expect(status).toBeLessThan(500)
  })

  test('in a reply of a platform or a sign-in provider', async () => {
    answer = JSON.stringify({ [text.slice(0, 100)]: [{ name: text }] })
    const http = new PlatformHttp({
      platform: { key: 'test', title: 'Test' },
      clock: systemClock,
      outgoing: Outgoing.of(true),
      breaker: new CircuitBreaker(systemClock),
      reader: { errorOf: () => undefined, budgetsOf: () => [] },
      onCall: () => undefined,
      onBudget: () => undefined,
    })
    const texts = (json: unknown) =>
      Object.entries(json as Record<string, { name: string }[]>).flatMap(([name, [one]]) => [name, one?.name ?? ''])
    const { json } = await http.send({ url, maxBytes: 5_000_000 })
    expect(texts(json).every(isUsable)).toBe(true)
    if (text.length > 1_000) return
    expect(texts((await fetchJson(url)).body).every(isUsable)).toBe(true)
  })

  test('in a text of a model', () => {
    expect(isUsable(plain(text))).toBe(true)
  })
})
