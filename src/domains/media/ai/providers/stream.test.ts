import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Outgoing } from '../../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../../fetch/target.ts'
import { openAiProvider } from './openai.ts'
import type { CaptionTask, PartialReply } from './provider.ts'

const CONTENT = JSON.stringify({ captions: [{ title: '', text: 'We play on Friday.', hashtags: [] }] })
const TASK: CaptionTask = {
  subject: { text: 'Friday', asset: null, past: { examples: [], hashtags: [], closing: null, emoji: [] } },
  settings: {
    tone: 'dry',
    language: 'en',
    hashtagCount: 0,
    bannedWords: [],
    emoji: 'none',
    model: null,
    creditLimitPerMonth: null,
    autoPublishModelText: false,
  },
  variantCount: 1,
  model: 'small',
}

/** Captions of a server that replies like this, and what was seen of them before. */
async function captionsOf(reply: RequestListener) {
  let asked = 0
  const server = createServer((request, response) => {
    asked += 1
    request.resume()
    request.on('end', () => reply(request, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const outgoing = new Outgoing(OPEN_RULES)
  onTestFinished(() => {
    outgoing.close()
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const provider = openAiProvider({
    baseUrl,
    idleMs: 200,
    key: undefined,
    outgoing,
    rules: OPEN_RULES,
    owner: 'server',
  })
  const seen: PartialReply[] = []
  const work = provider.captions(TASK, new AbortController().signal, (partial) => seen.push(partial))
  const outcome = await work.catch((error: unknown) => error)
  return { asked, seen, outcome }
}

const piece = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'a', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`

test('passes on what a model writes, as it arrives', async () => {
  const { outcome, seen } = await captionsOf((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const letter of CONTENT) response.write(piece(letter))
    response.end(`${piece('', 'stop')}data: [DONE]\n\n`)
  })
  expect(outcome).toMatchObject({ drafts: [{ text: 'We play on Friday.' }] })
  expect(seen.length).toBeGreaterThan(5)
  expect(seen.at(-1)).toEqual({ count: 1, text: 'We play on Friday.' })
})

test('takes the reply of a provider that does not stream', async () => {
  const { outcome, seen } = await captionsOf((_request, response) => {
    const message = { role: 'assistant', content: CONTENT }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: 'a', choices: [{ index: 0, message, finish_reason: 'stop' }] }, null, 2))
  })
  expect(outcome).toMatchObject({ drafts: [{ text: 'We play on Friday.' }] })
  expect(seen).toHaveLength(1)
})

test.each<[string, RequestListener, boolean]>([
  [
    'a connection that breaks in the middle',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(piece(CONTENT.slice(0, 50)), () => response.destroy())
    },
    true,
  ],
  [
    'an error within the stream',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`${piece(CONTENT.slice(0, 50))}data: {"error":{"message":"overloaded"}}\n\n`)
    },
    true,
  ],
  ['no JSON', (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{'), true],
  ['a refusal', (_request, response) => response.end(`${piece('', 'content_filter')}data: [DONE]\n\n`), false],
  ['a wrong key', (_request, response) => response.writeHead(401).end('{}'), false],
])('%s is a fault with a message for users', async (_what, reply, retryable) => {
  const { outcome } = await captionsOf(reply)
  expect(outcome).toMatchObject({ name: 'ProviderError', retryable })
})

const HUGE = Buffer.alloc(20_000_000, 'x')
const PAGE = '<!DOCTYPE html><html><body>Sign in</body></html>'
const whole = (type: string, body: string | Buffer): RequestListener => {
  return (_request, response) => response.writeHead(200, { 'content-type': type }).end(body)
}

test.each<[string, RequestListener, RegExp]>([
  ['20 MB of JSON', whole('application/json', HUGE), /too large/],
  ['20 MB of a stream', whole('text/event-stream', HUGE), /too large/],
  ['a web page', whole('text/html; charset=utf-8', PAGE), /web page instead of JSON/],
  ['a web page of 20 MB', whole('text/html', HUGE), /web page instead of JSON/],
  ['a web page that is declared as JSON', whole('application/json', PAGE), /web page instead of JSON/],
  [
    'a stream that stalls',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(piece(CONTENT.slice(0, 50)))
    },
    /stopped in the middle of its reply/,
  ],
  [
    'JSON that stalls',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"choices":')
    },
    /stopped in the middle of its reply/,
  ],
])('%s is named, and the provider is not asked again', async (_what, reply, message) => {
  const { asked, outcome } = await captionsOf(reply)
  expect(outcome).toMatchObject({ name: 'ProviderError', retryable: false, message: expect.stringMatching(message) })
  expect(asked).toBe(1)
})
