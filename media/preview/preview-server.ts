import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenOn } from '../listen.ts'
import type { MediaLog } from '../types.ts'
import { answerWhip, WHIP_PATH, type TakeWhip } from '../whip/node-link.ts'
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

export interface PreviewServer {
  readonly port: number
  close(): Promise<void>
}

export const FLV_TYPE = 'video/x-flv'
/** Path of a stream's preview; the ticket goes into Authorization. */
export const PREVIEW_PATH = /^\/preview\/([\w-]{1,64})$/

const MOST_CONNECTIONS = 1_024
const REQUEST_MS = 5_000

/**
 * Gives the streams of this media node to API nodes, which hand them on to those who may watch. Rejects when the port
 * cannot be had.
 */
export async function startPreviewServer(
  settings: PreviewSettings,
  viewersOf: (streamId: string) => Viewers | undefined,
  whip: TakeWhip,
  log: MediaLog,
): Promise<PreviewServer> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, noDelay: true })
  server.maxConnections = MOST_CONNECTIONS
  server.on('request', (request, response) => {
    if (request.url === WHIP_PATH) void answerWhip(request, response, settings.key, whip)
    else answer(request, response, settings.key, viewersOf)
  })
  const port = await listenOn(server, settings.host, settings.port, 'MEDIA_PORT')
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
  viewersOf: (streamId: string) => Viewers | undefined,
): void {
  const streamId = PREVIEW_PATH.exec(request.url ?? '')?.[1]
  const ticket = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  response.setHeader('Connection', 'close')
  if (request.method !== 'GET' || streamId === undefined) return refuse(response, 404)
  if (ticket === undefined || !ticketIsGood(key, streamId, ticket, new Date().getTime())) return refuse(response, 401)
  const viewers = viewersOf(streamId)
  if (viewers === undefined) return refuse(response, 404)
  if (viewers.isFull) return refuse(response, 503)
  response.writeHead(200, { 'Content-Type': FLV_TYPE })
  response.flushHeaders()
  viewers.add(response)
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status).end()
}
