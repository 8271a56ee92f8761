import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'

export interface AdminServerOptions {
  readonly host: string
  /** Undefined takes the usual port, or a free one when that is taken; 0 a free one. */
  readonly port: number | undefined
  readonly metrics: Registry
  readonly version: string
  /** Pages beside `/metrics` and `/healthz`: each gives what is shown as JSON. */
  readonly pages?: Readonly<Record<`/${string}`, () => Promise<unknown>>>
  /** Pages of the job queues, below `path`; undefined on a node that has none. */
  readonly queues?: { readonly path: string; readonly open: () => Promise<RequestListener> } | undefined
}

export interface AdminServer {
  readonly url: string
  close(): Promise<void>
}

const USUAL_PORT = 9090

/**
 * The port of those who run Crier: `/metrics` for Prometheus, `/healthz`, and pages of the parts. On an address of its own, because it asks
 * for no credential; on Node's own server, so that it answers also when the API's does not.
 * @throws Error when a port that was asked for is taken
 */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      response.writeHead(500, { 'Content-Type': 'text/plain' }).end(`${(error as Error).message}\n`)
    })
  })
  await listen(server, options)
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return {
    url: `http://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function listen(server: Server, { host, port }: AdminServerOptions): Promise<void> {
  try {
    await listenOn(server, host, port ?? USUAL_PORT)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    if (port !== undefined)
      throw new Error(`port ${port} on ${host} is taken: set ADMIN_PORT to a free one`, { cause: error })
    await listenOn(server, host, 0)
  }
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

async function answer(options: AdminServerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { queues } = options
  const { pathname } = new URL(request.url ?? '/', 'http://admin')
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { Allow: 'GET, HEAD', 'Content-Type': 'text/plain' }).end('GET only\n')
  } else if (pathname === '/metrics') {
    const text = await options.metrics.metrics()
    response.writeHead(200, { 'Content-Type': options.metrics.contentType }).end(text)
  } else if (pathname === '/healthz') {
    sendJson(response, { status: 'alive', version: options.version })
  } else if (queues !== undefined && (pathname === queues.path || pathname.startsWith(`${queues.path}/`))) {
    const pages = await queues.open()
    pages(request, response)
  } else {
    const page = Object.entries(options.pages ?? {}).find(([path]) => path === pathname)?.[1]
    if (page) sendJson(response, await page())
    else response.writeHead(404, { 'Content-Type': 'text/plain' }).end(`${pathsOf(options).join('\n')}\n`)
  }
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}

function pathsOf({ pages = {}, queues }: AdminServerOptions): string[] {
  return ['/metrics', '/healthz', ...Object.keys(pages), ...(queues === undefined ? [] : [queues.path])]
}
