import { once } from 'node:events'
import { request as plainRequest, Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { connect as connectH2, type ClientHttp2Session, type IncomingHttpHeaders as H2Headers } from 'node:http2'
import { request as tlsRequest, Agent as TlsAgent } from 'node:https'
import { Readable, type Writable } from 'node:stream'
import { startHaProxy, startNginx, type ReverseProxy } from './reverse-proxies.ts'

/** A request through a front. */
export interface FrontRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** An iterable is sent without a length, unless `headers` has one. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
  /** Sends `Expect: 100-continue`, and the body only after `100 Continue`. Only for HTTP/1.1. */
  readonly expects?: boolean
  /** Called with each part of the reply's body, which is not kept then. */
  readonly onData?: (part: Buffer) => void
}

export interface FrontReply {
  readonly status: number
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Of the body. */
  readonly bytes: number
  readonly text: string
  /** The connection had another request before. */
  readonly reused: boolean
  /** The connection has ended: the reply says so, or came before the end of the body, which was not sent then. */
  readonly isLast: boolean
  /** `100 Continue` has arrived. */
  readonly continued: boolean
}

/** A way to the server: directly or through a proxy, with one connection that is kept as long as possible. */
export interface Front {
  readonly name: string
  readonly url: string
  /** Undefined for the server itself. */
  readonly proxy: ReverseProxy | undefined
  readonly isHttp2: boolean
  /** @throws Error when the connection fails before the end of the reply */
  send(request: FrontRequest): Promise<FrontReply>
  /** Closes the connection. The next request opens another one. */
  close(): void
}

/** The server itself, then nginx and HAProxy, each by HTTP/1.1 and by HTTP/2. */
export async function openFronts(port: number): Promise<{ fronts: readonly Front[]; close: () => Promise<void> }> {
  const proxies = { nginx: await startNginx(port), HAProxy: await startHaProxy(port) }
  const fronts = [
    overHttp1('direct', port, undefined),
    ...Object.entries(proxies).flatMap(([name, proxy]) => [
      overHttp1(`${name} by HTTP/1.1`, proxy.port, proxy),
      overHttp2(`${name} by HTTP/2`, proxy),
    ]),
  ]
  return {
    fronts,
    close: async () => {
      for (const front of fronts) front.close()
      await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()))
    },
  }
}

/** What a session may hold. Node's default of 10 is less than it has to send when a body is refused. */
const MAX_MEGABYTES = 1_000

/** The name in the proxies' certificates. */
const servername = 'localhost'

function overHttp1(name: string, port: number, proxy: ReverseProxy | undefined): Front {
  // Closes an idle connection before the server and the proxies do.
  const options = { keepAlive: true, maxSockets: 1, timeout: 4_000 }
  const agent = proxy ? new TlsAgent({ ...options, ca: proxy.ca, servername }) : new Agent(options)
  const request = proxy ? tlsRequest : plainRequest
  const url = `${proxy ? 'https' : 'http'}://127.0.0.1:${port}`
  return {
    name,
    url,
    proxy,
    isHttp2: false,
    send: async ({ body, expects = false, headers, method, onData, path }) => {
      const all = { ...lengthOf(body), ...headers, ...(expects && { Expect: '100-continue' }) }
      const sent = request(url + path, { method, agent, headers: all })
      let continued = false
      const replied = new Promise<IncomingMessage>((resolve, reject) =>
        sent.once('response', resolve).on('error', reject),
      )
      sent.once('continue', () => {
        continued = true
        write(body, sent)
      })
      if (expects) sent.flushHeaders()
      else write(body, sent)
      const reply = await replied
      const content = await contentOf(reply, onData)
      const isLast = reply.headers.connection === 'close' || !sent.writableFinished
      if (!sent.writableFinished) sent.destroy()
      const { reusedSocket: reused } = sent
      return { status: reply.statusCode ?? 0, headers: plain(reply.headers), ...content, reused, isLast, continued }
    },
    close: () => agent.destroy(),
  }
}

function overHttp2(name: string, proxy: ReverseProxy): Front {
  const url = `https://127.0.0.1:${proxy.port}`
  let session: ClientHttp2Session | undefined
  return {
    name,
    url,
    proxy,
    isHttp2: true,
    send: async ({ body, headers, method, onData, path }) => {
      const known = session?.closed === false && !session.destroyed ? session : undefined
      session = known ?? connectH2(url, { ca: proxy.ca, servername, maxSessionMemory: MAX_MEGABYTES })
      // The requests of the session fail with the same error.
      if (!known) session.on('error', () => undefined)
      const target = { ':method': method, ':path': path, ':authority': servername }
      const stream = session.request({ ...lengthOf(body), ...headers, ...target }, { endStream: body === undefined })
      const replied = once(stream, 'response') as Promise<[H2Headers]>
      stream.on('error', () => undefined)
      if (body !== undefined) write(body, stream)
      const [{ ':status': status, ...rest }] = await replied
      const content = await contentOf(stream, onData)
      stream.close()
      const reused = known !== undefined
      return { status: Number(status), headers: plain(rest), ...content, reused, isLast: false, continued: false }
    },
    close: () => session?.destroy(),
  }
}

function lengthOf(body: FrontRequest['body']): Record<string, string> {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return {}
  return { 'content-length': String(Buffer.byteLength(body)) }
}

function write(body: FrontRequest['body'], to: Writable): void {
  if (body === undefined) to.end()
  else if (typeof body === 'string' || body instanceof Uint8Array) to.end(body)
  else Readable.from(body).pipe(to)
}

async function contentOf(
  reply: AsyncIterable<Buffer>,
  onData: FrontRequest['onData'],
): Promise<{ bytes: number; text: string }> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of reply) {
    bytes += part.length
    if (onData) onData(part)
    else parts.push(part)
  }
  return { bytes, text: Buffer.concat(parts).toString() }
}

function plain(headers: IncomingHttpHeaders | H2Headers): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
