import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { makeTicket, ticketIsGood } from '../preview/ticket.ts'
import type { WhipReply, WhipRequest } from '../types.ts'

/** How API nodes without a media process of their own hand clients of WHIP to a media node: over its port for nodes. */

export const WHIP_PATH = '/whip'
export type TakeWhip = (request: WhipRequest) => Promise<WhipReply>

/** What a ticket is for. */
const SUBJECT = 'whip'
const MOST_BYTES = 200_000
const ANSWER_MS = 12_000

export async function answerWhip(
  request: IncomingMessage,
  response: ServerResponse,
  key: Uint8Array,
  take: TakeWhip,
): Promise<void> {
  response.setHeader('Connection', 'close')
  const ticket = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  const allowed = ticket !== undefined && ticketIsGood(key, SUBJECT, ticket, new Date().getTime())
  if (!allowed || request.method !== 'POST') {
    response.writeHead(allowed ? 405 : 401).end()
    return
  }
  try {
    const asked = JSON.parse(await text(request)) as WhipRequest
    const reply = JSON.stringify(await take(asked))
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(reply)
  } catch {
    // What our own nodes send is whole; a connection that broke off, or somebody's nonsense, is not.
    response.writeHead(400).end()
  }
}

/**
 * Asks the media node at `host:port`.
 * @throws Error when it does not answer
 */
export function askWhip(address: string, request: WhipRequest, key: Uint8Array): Promise<WhipReply> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${makeTicket(key, SUBJECT, new Date().getTime())}` }
    const asked = httpRequest(`http://${address}${WHIP_PATH}`, { method: 'POST', headers, agent: false })
    const timer = setTimeout(() => asked.destroy(new Error('no answer in time')), ANSWER_MS)
    asked.once('error', reject)
    asked.once('close', () => clearTimeout(timer))
    asked.once('response', (response) => {
      if (response.statusCode === 200) text(response).then((body) => resolve(JSON.parse(body) as WhipReply), reject)
      else {
        response.destroy()
        reject(new Error(`the media node answered ${response.statusCode}`))
      }
    })
    asked.end(JSON.stringify(request))
  })
}

async function text(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BYTES) throw new Error('the message is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
