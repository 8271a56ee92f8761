import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenOn } from '../listen.ts'
import type { MediaLog } from '../types.ts'
import { handleWhip, WHIP_PATH, type WhipHandler } from '../whip/proxy.ts'
import { handleWhep } from '../whip/whep/proxy.ts'
import type { WhipIngest } from '../whip/whip-ingest.ts'
import { isTicketValid } from './ticket.ts'
import type { Viewers } from './viewers.ts'

/** Settings of the HTTP server that API nodes connect to. */
export interface PreviewSettings {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Signs tickets. It is the same on all nodes and is never sent. */
  readonly key: Uint8Array
}

/** What the server offers to API nodes. */
export interface PreviewHandlers {
  readonly viewersOf: (streamId: string) => Viewers | undefined
  readonly whip: WhipHandler
  readonly openWhep: WhipIngest['openWhep']
  readonly endWhep: WhipIngest['endWhep']
}

export interface PreviewServer {
  readonly port: number
  close(): Promise<void>
}

const FLV_TYPE = 'video/x-flv'
/** Path of a stream's preview, or of one WHEP session. The ticket is in the header Authorization. */
const PREVIEW_PATH = /^\/preview\/([\w-]{1,64})(?:\/([0-9a-f]{32}))?$/

const MAX_CONNECTIONS = 1_024
const REQUEST_TIMEOUT_MS = 5_000

/**
 * Serves the previews of this media node to API nodes, which authorize viewers. Also accepts WHIP and WHEP requests from
 * them. Rejects if it cannot listen on the port.
 */
export async function startPreviewServer(
  settings: PreviewSettings,
  handlers: PreviewHandlers,
  log: MediaLog,
): Promise<PreviewServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS, noDelay: true })
  server.maxConnections = MAX_CONNECTIONS
  server.on('request', (request, response) => {
    response.setHeader('X-Content-Type-Options', 'nosniff').setHeader('Cache-Control', 'no-store')
    if (request.url === WHIP_PATH) void handleWhip(request, response, settings.key, handlers.whip)
    else handlePreview(request, response, settings.key, handlers)
  })
  const port = await listenOn(server, settings.host, settings.port, { port: 'MEDIA_PORT', host: 'CLUSTER_HOST' })
  server.on('error', (error) => log.error({ error: error.message }, 'the preview server failed'))
  return {
    port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function handlePreview(
  request: IncomingMessage,
  response: ServerResponse,
  key: Uint8Array,
  { endWhep, openWhep, viewersOf }: PreviewHandlers,
): void {
  const [, streamId, session] = PREVIEW_PATH.exec(request.url ?? '') ?? []
  const ticket = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  response.setHeader('Connection', 'close')
  if (streamId === undefined) return refuse(response, 404)
  if (ticket === undefined || !isTicketValid(key, streamId, ticket, new Date().getTime())) return refuse(response, 401)
  if (session !== undefined) return refuse(response, request.method === 'DELETE' && endWhep(session) ? 200 : 404)
  const viewers = viewersOf(streamId)
  if (viewers === undefined) return refuse(response, 404)
  if (request.method === 'POST') {
    void handleWhep(request, response, (sdp) => openWhep(streamId, () => viewersOf(streamId), sdp))
    return
  }
  if (request.method !== 'GET') return refuse(response, 405)
  if (viewers.isFull) return refuse(response, 503)
  response.writeHead(200, { 'Content-Type': FLV_TYPE })
  response.flushHeaders()
  viewers.add(response)
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status).end()
}
