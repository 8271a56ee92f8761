import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenOn } from '../listen.ts'
import type { MediaLog } from '../types.ts'
import { answerWhip, WHIP_PATH, type TakeWhip } from '../whip/proxy.ts'
import { answerWatch } from '../whip/watch/proxy.ts'
import type { WhipIngest } from '../whip/whip-ingest.ts'
import { ticketIsGood } from './ticket.ts'
import type { Viewers } from './viewers.ts'

/** Where the API nodes read previews, and what proves that they are ours. */
export interface PreviewSettings {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** The same on all nodes; never sent. */
  readonly key: Uint8Array
}

/** What API nodes may ask for. */
export interface PreviewHandlers {
  readonly viewersOf: (streamId: string) => Viewers | undefined
  readonly whip: TakeWhip
  /** Lets somebody watch over WebRTC; ends that. */
  readonly watch: WhipIngest['watch']
  readonly endWatch: WhipIngest['endWatch']
}

export interface PreviewServer {
  readonly port: number
  close(): Promise<void>
}

const FLV_TYPE = 'video/x-flv'
/** Path of a stream's preview, or of a session of one who watches it over WebRTC; the ticket goes into Authorization. */
const PREVIEW_PATH = /^\/preview\/([\w-]{1,64})(?:\/([0-9a-f]{32}))?$/

const MOST_CONNECTIONS = 1_024
const REQUEST_MS = 5_000

/**
 * Gives the streams of this media node to API nodes, which hand them on to those who may watch. Rejects when the port
 * cannot be had.
 */
export async function startPreviewServer(
  settings: PreviewSettings,
  handlers: PreviewHandlers,
  log: MediaLog,
): Promise<PreviewServer> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, noDelay: true })
  server.maxConnections = MOST_CONNECTIONS
  server.on('request', (request, response) => {
    response.setHeader('X-Content-Type-Options', 'nosniff').setHeader('Cache-Control', 'no-store')
    if (request.url === WHIP_PATH) void answerWhip(request, response, settings.key, handlers.whip)
    else answer(request, response, settings.key, handlers)
  })
  const port = await listenOn(server, settings.host, settings.port, { port: 'MEDIA_PORT', host: 'CLUSTER_HOST' })
  server.on('error', (error) => log.error({ error: error.message }, 'the listener for previews failed'))
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

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  key: Uint8Array,
  { endWatch, viewersOf, watch }: PreviewHandlers,
): void {
  const [, streamId, session] = PREVIEW_PATH.exec(request.url ?? '') ?? []
  const ticket = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  response.setHeader('Connection', 'close')
  if (streamId === undefined) return refuse(response, 404)
  if (ticket === undefined || !ticketIsGood(key, streamId, ticket, new Date().getTime())) return refuse(response, 401)
  if (session !== undefined) return refuse(response, request.method === 'DELETE' && endWatch(session) ? 200 : 404)
  const viewers = viewersOf(streamId)
  if (viewers === undefined) return refuse(response, 404)
  if (request.method === 'POST') {
    void answerWatch(request, response, (sdp) => watch(streamId, () => viewersOf(streamId), sdp))
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
