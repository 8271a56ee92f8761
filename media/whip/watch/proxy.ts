import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { makeTicket } from '../../preview/ticket.ts'
import type { WatchReply } from './watching.ts'

/** How API nodes have a media node let somebody watch over WebRTC: over its port for nodes. */

/** Answers an offer. */
export type TakeWatch = (sdp: string) => Promise<WatchReply>

/** What a media node says; `viewing` ends with the session, and destroying it ends that. */
export type OpenedWatch =
  | { readonly ok: true; readonly session: string; readonly sdp: string; readonly viewing: Readable }
  | Extract<WatchReply, { ok: false }>

const SESSION = 'x-session'
/** Base64: an answer has several lines. */
const ANSWER = 'x-answer'
const REFUSED = 422
const ANSWER_MS = 12_000

/** Takes an offer of an API node that may ask: the response is open as long as the session is. */
export async function answerWatch(request: IncomingMessage, response: ServerResponse, take: TakeWatch): Promise<void> {
  try {
    const reply = await take(await text(request))
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
    // The node that asked has gone.
    response.destroy()
  }
}

/**
 * Has the media node at `host:port` answer an offer; undefined when it does not have the stream.
 * @throws Error when it does not answer
 */
export async function openWatch(
  address: string,
  streamId: string,
  sdp: string,
  key: Uint8Array,
): Promise<OpenedWatch | undefined> {
  const response = await ask(
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
  if (response.statusCode === REFUSED) return JSON.parse(await text(response)) as Extract<WatchReply, { ok: false }>
  response.destroy()
  if (response.statusCode === 404) return undefined
  throw new Error(`the media node answered ${response.statusCode}`)
}

/** Ends a session. @returns whether there was one @throws Error when the media node does not answer */
export async function endWatch(address: string, streamId: string, session: string, key: Uint8Array): Promise<boolean> {
  const path = `/preview/${streamId}/${session}`
  const response = await ask(address, 'DELETE', path, makeTicket(key, streamId, new Date().getTime()))
  response.destroy()
  return response.statusCode === 200
}

function ask(address: string, method: string, path: string, ticket: string, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${ticket}` }
    const asked = httpRequest(`http://${address}${path}`, { method, headers, agent: false })
    const timer = setTimeout(() => asked.destroy(new Error('no answer in time')), ANSWER_MS)
    // After the answer an error means its end, which is told by `close`.
    asked.on('error', reject)
    asked.once('response', (response) => {
      clearTimeout(timer)
      response.on('error', () => {})
      resolve(response)
    })
    asked.once('close', () => clearTimeout(timer))
    asked.end(body)
  })
}
