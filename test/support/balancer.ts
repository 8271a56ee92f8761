import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The interval of health checks. */
const CHECK_EVERY_MS = 200

interface Backend {
  readonly url: URL
  isReady: boolean
}

/** A reverse proxy with health checks, in front of several nodes. */
export interface Balancer {
  readonly url: string
  /** The URLs of the nodes that currently get requests. */
  ready(): string[]
  close(): Promise<void>
}

/**
 * Forwards requests to the ready nodes in turn, over persistent connections. It never retries: a request that a node does
 * not reply to gets a 502.
 * @param urls base URLs of the nodes; ports stay the same over restarts
 */
export async function startBalancer(urls: readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const backends: Backend[] = urls.map((url) => ({ url: new URL(url), isReady: false }))
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const candidates = backends.filter(({ isReady }) => isReady)
    turn += 1
    const backend = candidates[turn % candidates.length]
    if (backend) forward(agent, backend.url, incoming, outgoing)
    else fail(outgoing, 'no node is ready')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const timer = setInterval(() => {
    for (const backend of backends) void check(backend)
  }, CHECK_EVERY_MS)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ready: () => backends.filter(({ isReady }) => isReady).map(({ url }) => url.origin),
    close: () =>
      new Promise((resolve) => {
        clearInterval(timer)
        agent.destroy()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function check(backend: Backend): Promise<void> {
  const response = await fetch(new URL('/api/ready', backend.url)).catch(() => undefined)
  backend.isReady = response?.ok === true
  await response?.body?.cancel()
}

function forward(agent: Agent, to: URL, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method = 'GET', url: path = '/' } = incoming
  const { connection: _, ...headers } = incoming.headers
  const options = { agent, host: to.hostname, port: to.port, method, path, headers }
  const upstream = request(options, (response) => {
    const { connection: _hop, ...kept } = response.headers
    outgoing.writeHead(response.statusCode ?? 502, kept)
    response.pipe(outgoing)
    response.once('error', (error) => outgoing.destroy(error))
  })
  upstream.once('error', (error) => fail(outgoing, error.message))
  incoming.pipe(upstream)
}

function fail(outgoing: ServerResponse, why: string): void {
  if (outgoing.headersSent) outgoing.destroy()
  else outgoing.writeHead(502, { 'Content-Type': 'text/plain' }).end(why)
}
