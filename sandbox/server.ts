import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock, type Clock } from '../src/core/clock.ts'
import type { Fake, FakeFactory, FakeReply, FakeRequest } from './fake.ts'
import { Faults, type Fault } from './faults.ts'
import { postsPage } from './posts-page.ts'
import { StateFile } from './state-file.ts'

const MAX_BYTES = 600_000_000

export interface FakeServerOptions {
  readonly platform: { readonly key: string; readonly title: string }
  readonly create: FakeFactory
  readonly port?: number
  readonly host?: string
  /** The file that keeps the state; without it, the state is lost with the process. */
  readonly file?: string
  readonly clock?: Clock
}

/** A running fake. */
export interface RunningFake {
  readonly url: string
  readonly fake: Fake
  readonly faults: Faults
  /** The requests that were handled, for tests: method and path. */
  readonly requests: readonly string[]
  close(): Promise<void>
}

/** Serves a fake over HTTP. Control requests are below `/_sandbox`; `/` and `/posts` show what was published. */
export async function serveFake(options: FakeServerOptions): Promise<RunningFake> {
  const { clock = systemClock, create, file, host = '127.0.0.1', platform, port = 0 } = options
  const fake = create({ clock, state: file === undefined ? undefined : ((await StateFile.read(file)) as never) })
  const kept = file === undefined ? undefined : new StateFile(file, () => fake.state)
  const faults = new Faults()
  const requests: string[] = []
  const server = createServer((incoming, outgoing) => {
    void answer(incoming, outgoing).catch((error: unknown) => {
      if (outgoing.headersSent) outgoing.destroy()
      else send(outgoing, platform.key, { status: 500, body: { sandbox: String(error) } })
    })
  })

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = await read(incoming)
    if (request.path.startsWith('/_sandbox/')) return control(request, outgoing)
    if (request.method === 'GET' && (request.path === '/' || request.path === '/posts')) {
      const wantsJson = request.path === '/posts'
      const body = wantsJson ? fake.posts() : postsPage(platform.title, fake.posts())
      return send(outgoing, platform.key, { status: 200, body })
    }
    requests.push(`${request.method} ${request.path}`)
    const fault = faults.take(request.method, request.path)
    if (fault?.kind === 'refuse') return void outgoing.destroy()
    // The client ends the connection, or the sandbox does when it closes.
    if (fault?.kind === 'stall') return
    if (fault?.kind === 'status') return send(outgoing, platform.key, statusOf(fault, request))
    const reply = await fake.handle(request)
    await kept?.save()
    if (fault?.kind === 'cut') return void outgoing.destroy()
    if (fault?.kind === 'hold') return
    if (fault?.kind === 'cut_body') return cutWithin(outgoing)
    if (fault?.kind === 'status_after') return send(outgoing, platform.key, statusOf(fault, request))
    if (fault?.kind === 'slow') await delay(fault.delayMs ?? 1_000)
    send(outgoing, platform.key, reply)
  }

  async function control({ body, method, path }: FakeRequest, outgoing: ServerResponse): Promise<void> {
    if (path === '/_sandbox/accounts') {
      const credential = fake.newAccount()
      await kept?.save()
      return send(outgoing, platform.key, { status: 201, body: credential })
    }
    if (path === '/_sandbox/faults') {
      if (method === 'DELETE') faults.clear()
      else faults.add(body as unknown as Fault)
      return send(outgoing, platform.key, { status: 204 })
    }
    send(outgoing, platform.key, { status: 404, body: { sandbox: 'unknown control request' } })
  }

  await listen(server, port, host)
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host}:${bound}`,
    fake,
    faults,
    requests,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Sends a reply that ends before its length. */
function cutWithin(outgoing: ServerResponse): void {
  outgoing.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000' })
  outgoing.write('{"data":', () => outgoing.destroy())
}

function statusOf({ echo = false, retryAfter, status = 503 }: Fault, request: FakeRequest): FakeReply {
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
  if (!echo) return { status, headers, body: { error: 'injected by the sandbox', error_code: status, ok: false } }
  const { bytes, headers: sent, path, query } = request
  const text = [
    path,
    decodeURIComponent(path),
    query.toString(),
    sent.authorization,
    sent['dpop'],
    bytes.toString('utf8'),
  ]
  const message = `injected by the sandbox: ${text.join(' ')}`
  // The fields in which platforms describe an error.
  const fields = { message, description: message, detail: message, error_description: message, title: message }
  return { status, headers, body: { ...fields, ok: false, error: { ...fields, code: message }, errors: [fields] } }
}

function send(outgoing: ServerResponse, platform: string, { body, headers, status }: FakeReply): void {
  const isText = typeof body === 'string'
  outgoing.writeHead(status, {
    // A reply of 204 with a type of content makes some clients read the content.
    ...(body !== undefined && { 'Content-Type': isText ? 'text/html; charset=utf-8' : 'application/json' }),
    // Prevents a fake from being mistaken for the platform.
    'X-Crier-Sandbox': platform,
    ...headers,
  })
  outgoing.end(body === undefined ? undefined : isText ? body : JSON.stringify(body))
}

async function read(incoming: IncomingMessage): Promise<FakeRequest> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`a body is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  const { headers, method = 'GET' } = incoming
  const url = new URL(incoming.url ?? '/', `http://${headers.host ?? '127.0.0.1'}`)
  return fakeRequest(method, url, headers, Buffer.concat(chunks))
}

/** A request in the form that fakes take. @param headers with names in lower case */
export function fakeRequest(method: string, url: URL, headers: FakeRequest['headers'], bytes: Buffer): FakeRequest {
  const { origin: base, pathname: path, searchParams: query } = url
  return { method, path, query, headers, bytes, body: bodyOf(headers, bytes), base }
}

function bodyOf(headers: FakeRequest['headers'], bytes: Buffer): Record<string, unknown> {
  const type = headers['content-type'] ?? ''
  if (type.includes('application/x-www-form-urlencoded')) {
    return Object.fromEntries(new URLSearchParams(bytes.toString('utf8')))
  }
  if (!type.includes('json') || bytes.length === 0) return {}
  try {
    return JSON.parse(bytes.toString('utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
}
