import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { AdminAccess, type AdminAccessOptions } from './admin-access.ts'

/** The reply of a page of the admin port: JSON, with status 200 by default. */
export interface AdminPage {
  readonly status?: 200 | 503
  readonly body: unknown
}

export interface AdminServerOptions {
  readonly host: string
  /** Undefined uses the default port, or a free port if that is in use; 0 always uses a free port. */
  readonly port: number | undefined
  readonly access: AdminAccessOptions
  readonly metrics: Registry
  readonly version: string
  /** Pages in addition to `/metrics` and `/healthz`. */
  readonly pages?: Readonly<Record<`/${string}`, () => Promise<AdminPage>>>
  /** Pages of the job queues, below `path`; undefined on a node without queues. */
  readonly queues?: { readonly path: string; readonly open: () => Promise<RequestListener> } | undefined
}

export interface AdminServer {
  readonly url: string
  close(): Promise<void>
}

const USUAL_PORT = 9090

/**
 * The port for operators: `/metrics` for Prometheus, `/healthz`, and other admin pages. `AdminAccess` decides who may
 * read it. It is Node's own HTTP server on a separate address, so that it responds even when the API does not.
 * @throws Error with the system's `code` when the port cannot be bound
 */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const access = new AdminAccess(options.access)
  const server = createServer((request, response) => {
    response.setHeader('X-Content-Type-Options', 'nosniff').setHeader('Cache-Control', 'no-store')
    answer(options, access, request, response).catch((error: unknown) => {
      sendText(response, 500, `${(error as Error).message}\n`)
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
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || port !== undefined) throw error
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

async function answer(
  options: AdminServerOptions,
  access: AdminAccess,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { queues } = options
  const { pathname } = new URL(request.url ?? '/', 'http://admin')
  const refusal = access.refuse(request, pathname)
  if (refusal !== undefined) {
    sendText(response, refusal.status, refusal.text, refusal.headers)
  } else if (request.method !== 'GET' && request.method !== 'HEAD') {
    sendText(response, 405, 'GET only\n', { Allow: 'GET, HEAD' })
  } else if (pathname === '/metrics') {
    const text = await options.metrics.metrics()
    response.writeHead(200, { 'Content-Type': options.metrics.contentType }).end(text)
  } else if (pathname === '/healthz') {
    sendJson(response, { body: { status: 'alive', version: options.version } })
  } else if (queues !== undefined && (pathname === queues.path || pathname.startsWith(`${queues.path}/`))) {
    const pages = await queues.open()
    pages(request, response)
  } else {
    const page = Object.entries(options.pages ?? {}).find(([path]) => path === pathname)?.[1]
    if (page) sendJson(response, await page())
    else sendText(response, 404, `${pathsOf(options).join('\n')}\n`)
  }
}

function sendJson(response: ServerResponse, { body, status = 200 }: AdminPage): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}

function sendText(response: ServerResponse, status: number, text: string, headers = {}): void {
  response.writeHead(status, { 'Content-Type': 'text/plain', ...headers }).end(text)
}

function pathsOf({ pages = {}, queues }: AdminServerOptions): string[] {
  return ['/metrics', '/healthz', ...Object.keys(pages), ...(queues === undefined ? [] : [queues.path])]
}
