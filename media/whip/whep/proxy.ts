import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { makeTicket } from '../../preview/ticket.ts'
import type { WhepReply } from './whep-sessions.ts'

/**
 * Forwards WHEP requests from API nodes to a media node, over the HTTP server that the node has for API nodes. The response to
 * an offer stays open as long as the session.
 */

/** Answers an SDP offer. */
export type WhepHandler = (sdp: string) => Promise<WhepReply>

/** The reply of a media node. `viewing` ends with the session. Destroying it ends the session. */
export type OpenedWhep =
  | { readonly ok: true; readonly session: string; readonly sdp: string; readonly viewing: Readable }
  | Extract<WhepReply, { ok: false }>

const SESSION = 'x-session'
/** Base64, because an SDP answer has several lines. */
const ANSWER = 'x-answer'
const REFUSED = 422
const RESPONSE_TIMEOUT_MS = 12_000

/** Handles an offer from an API node whose ticket was checked. Keeps the response open until the session ends. */
export async function handleWhep(
  request: IncomingMessage,
  response: ServerResponse,
  handler: WhepHandler,
): Promise<void> {
  try {
    const reply = await handler(await text(request))
    if (!reply.ok) {
      response.writeHead(REFUSED, { 'Content-Type': 'application/json' }).end(JSON.stringify(reply))
      return
    }
    const { feed, sdp, session } = reply
    feed.once('close', () => response.end())
    response.once('close', () => feed.destroy())
    response.writeHead(200, { [SESSION]: session, [ANSWER]: Buffer.from(sdp).toString('base64') })
    response.flushHeaders()
  } catch {
    // The connection to the API node broke.
    response.destroy()
  }
}

/**
 * Sends an offer to the media node at `host:port`. Undefined if the node does not have the stream.
 * @throws Error if the node does not respond
 */
export async function openWhep(
  address: string,
  streamId: string,
  sdp: string,
  key: Uint8Array,
): Promise<OpenedWhep | undefined> {
  const response = await send(
    address,
    'POST',
    `/preview/${streamId}`,
    makeTicket(key, streamId, new Date().getTime()),
    sdp,
  )
  const { [SESSION]: session, [ANSWER]: answer } = response.headers
  if (response.statusCode === 200 && typeof session === 'string' && typeof answer === 'string') {
    response.resume()
    return { ok: true, session, sdp: Buffer.from(answer, 'base64').toString(), viewing: response }
  }
  if (response.statusCode === REFUSED) return JSON.parse(await text(response)) as Extract<WhepReply, { ok: false }>
  response.destroy()
  if (response.statusCode === 404) return undefined
  throw new Error(`the media node responded with ${response.statusCode}`)
}

/** Ends a session. @returns whether it existed @throws Error if the node does not respond */
export async function endWhep(address: string, streamId: string, session: string, key: Uint8Array): Promise<boolean> {
  const path = `/preview/${streamId}/${session}`
  const response = await send(address, 'DELETE', path, makeTicket(key, streamId, new Date().getTime()))
  response.destroy()
  return response.statusCode === 200
}

function send(address: string, method: string, path: string, ticket: string, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${ticket}` }
    const outgoing = httpRequest(`http://${address}${path}`, { method, headers, agent: false })
    const timer = setTimeout(() => outgoing.destroy(new Error('no response in time')), RESPONSE_TIMEOUT_MS)
    // After the response, an error is followed by `close`, which ends the session.
    outgoing.on('error', reject)
    outgoing.once('response', (response) => {
      clearTimeout(timer)
      response.on('error', () => {})
      resolve(response)
    })
    outgoing.once('close', () => clearTimeout(timer))
    outgoing.end(body)
  })
}
