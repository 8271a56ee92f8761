import type { HttpResponse } from 'uWebSockets.js'
import type { Transfer, Transfers } from './transfers.ts'

/** How many bytes of a refused body are read and dropped. Further ones are not read. */
export const MAX_DROPPED = 16_000_000

/**
 * The end of the headers and the body of a reply that asks the client to close the connection. It is written as text of
 * a header, because uWS forgets a request whose reply has ended, with what still arrives of its body.
 * @param body JSON or text. uWS ends a header by a line break, so that is added to it
 */
export function lastReply(body: string): string {
  return `\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body) + 2}\r\n\r\n${body}`
}

/**
 * Drops what a client still sends after its reply, until it closes the connection or its body ends (RFC 9112, 9.6). If
 * the connection were closed with unread bytes, it would be reset: the client may never see the reply, and proxies
 * answer 502 instead.
 * @param leftovers closes the connection of a client that sends slowly or for too long
 */
export function dropLeftover(response: HttpResponse, leftovers: Transfers, network: string): Transfer {
  const transfer = leftovers.begin(network, () => response.close())
  response.onData((chunk, isLast) => {
    transfer.bytes += chunk.byteLength
    if (isLast) response.close()
    // A sender that has to wait, such as nginx, sees the reply.
    else if (transfer.bytes > MAX_DROPPED) response.pause()
  })
  return transfer
}
