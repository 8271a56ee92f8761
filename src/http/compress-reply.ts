import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import type { Exchange } from './exchange.ts'
import { takesGzip, WORTH_COMPRESSING } from './page.ts'

/**
 * Larger texts are compressed by a thread of libuv, so that they hold no other request up. 64 kB take 0.3 ms here, and a
 * thread costs as much.
 */
const MAX_AT_ONCE = 65_536
/** Ten kilobytes become two; higher levels take longer and save a few percent. */
const LEVEL = { level: 1 }

const gzipInThread = promisify(gzip)

type Headers = [string, string][]

/**
 * Sends a reply of text, compressed if it is worth it and the client takes gzip. The entity tag stays the same: it is the
 * version of the resource, which clients send back as If-Match.
 */
export function sendText(
  exchange: Pick<Exchange, 'http' | 'send'>,
  status: number,
  headers: Headers,
  body: string | Uint8Array,
): void | Promise<void> {
  if (body.length < WORTH_COMPRESSING) {
    exchange.send(status, headers, body)
    return
  }
  headers.push(['Vary', 'Accept-Encoding'])
  if (!takesGzip(exchange.http?.headers.acceptEncoding ?? '')) {
    exchange.send(status, headers, body)
    return
  }
  const encoded: Headers = [...headers, ['Content-Encoding', 'gzip']]
  if (body.length <= MAX_AT_ONCE) {
    exchange.send(status, encoded, gzipSync(body, LEVEL))
    return
  }
  return gzipInThread(body, LEVEL).then((bytes) => exchange.send(status, encoded, bytes))
}
