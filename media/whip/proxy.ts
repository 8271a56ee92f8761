import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { makeTicket, isTicketValid } from '../preview/ticket.ts'
import type { WhipReply, WhipRequest } from '../types.ts'

/**
 * Forwards WHIP requests from API nodes without a media process to a media node, over the HTTP server that the node has for
 * API nodes.
 */

export const WHIP_PATH = '/whip'
export type WhipHandler = (request: WhipRequest) => Promise<WhipReply>

/** Subject of the tickets. */
const SUBJECT = 'whip'
const MAX_BYTES = 200_000
const RESPONSE_TIMEOUT_MS = 12_000

/** Handles a request of an API node. Checks its ticket. */
export async function handleWhip(
  request: IncomingMessage,
  response: ServerResponse,
  key: Uint8Array,
  handler: WhipHandler,
): Promise<void> {
  response.setHeader('Connection', 'close')
  const ticket = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  const allowed = ticket !== undefined && isTicketValid(key, SUBJECT, ticket, new Date().getTime())
  if (!allowed || request.method !== 'POST') {
    response.writeHead(allowed ? 405 : 401).end()
    return
  }
  try {
    const whipRequest = JSON.parse(await text(request)) as WhipRequest
    const reply = JSON.stringify(await handler(whipRequest))
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(reply)
  } catch {
    // Our own nodes send valid JSON, so the connection was cut off or the body is not from one of them.
    response.writeHead(400).end()
  }
}

/**
 * Sends a WHIP request to the media node at `host:port`.
 * @throws Error if the node does not respond
 */
export function requestWhip(address: string, request: WhipRequest, key: Uint8Array): Promise<WhipReply> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${makeTicket(key, SUBJECT, new Date().getTime())}` }
    const outgoing = httpRequest(`http://${address}${WHIP_PATH}`, { method: 'POST', headers, agent: false })
    const timer = setTimeout(() => outgoing.destroy(new Error('no response in time')), RESPONSE_TIMEOUT_MS)
    outgoing.once('error', reject)
    outgoing.once('close', () => clearTimeout(timer))
    outgoing.once('response', (response) => {
      if (response.statusCode === 200) text(response).then((body) => resolve(JSON.parse(body) as WhipReply), reject)
      else {
        response.destroy()
        reject(new Error(`the media node responded with ${response.statusCode}`))
      }
    })
    outgoing.end(JSON.stringify(request))
  })
}

async function text(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
