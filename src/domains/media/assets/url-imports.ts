import { extname } from 'node:path'
import { Readable } from 'node:stream'
import type { Static } from 'typebox'
import { SECOND, MINUTE } from '../../../core/clock.ts'
import { UrlRefused, UrlUnreachable } from '../../../fetch/errors.ts'
import { OutgoingError, type Outgoing, type OutgoingStream } from '../../../fetch/outgoing.ts'
import type { AssetUploads } from './asset-uploads.ts'
import type { AssetData, NewAssetFromUrl } from './schemas.ts'

/** The largest file that is fetched. Larger ones are uploaded. */
export const MAX_FETCHED_BYTES = 1024 ** 3
/** The time for a file, and the longest pause in it. */
const TIMEOUT_MS = 10 * MINUTE
const IDLE_MS = 20 * SECOND
const MAX_REDIRECTS = 5

/** Adds files of public URLs to the library. Addresses that are not public are refused, also after a redirect. */
export class UrlImports {
  readonly #outgoing: Outgoing
  readonly #uploads: AssetUploads

  constructor(outgoing: Outgoing, uploads: AssetUploads) {
    this.#outgoing = outgoing
    this.#uploads = uploads
  }

  /**
   * @param signal ends the request
   * @throws AppError url_refused, url_unreachable, and as `AssetUploads.upload`
   */
  async add(
    { url, ...fields }: Static<typeof NewAssetFromUrl>,
    userId: string,
    signal?: AbortSignal,
  ): Promise<AssetData> {
    const { announced, body, last } = await this.#open(url, signal)
    const stream = Readable.from(read(body), { objectMode: false })
    try {
      return await this.#uploads.upload(fields, userId, { stream, name: nameOf(last), announced })
    } finally {
      stream.destroy()
    }
  }

  async #open(url: string, signal: AbortSignal | undefined) {
    let next = url
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const { body, headers, status } = await this.#send(next, signal)
      const { location } = headers
      if (status >= 300 && status < 400 && location !== undefined) {
        await drop(body)
        next = URL.parse(location, next)?.href ?? ''
        continue
      }
      if (status !== 200) {
        await drop(body)
        throw UrlUnreachable({ message: `The server of the URL answered ${status}.` })
      }
      const size = Number(headers['content-length'] ?? Number.NaN)
      return { announced: Number.isSafeInteger(size) ? size : undefined, body, last: next }
    }
    throw UrlRefused({ message: `The URL redirects more than ${MAX_REDIRECTS} times.` })
  }

  async #send(url: string, signal: AbortSignal | undefined): Promise<OutgoingStream> {
    try {
      return await this.#outgoing.open({
        method: 'GET',
        url,
        headers: { Accept: '*/*', 'User-Agent': 'Crier/0.1 (media import)' },
        maxBytes: MAX_FETCHED_BYTES,
        timeoutMs: TIMEOUT_MS,
        wholly: true,
        idleMs: IDLE_MS,
        signal,
      })
    } catch (error) {
      throw refusal(error)
    }
  }
}

async function* read(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body
  } catch (error) {
    throw refusal(error)
  }
}

/** Closes the connection of a reply that is not read. */
async function drop(body: AsyncIterable<Buffer>): Promise<void> {
  await body[Symbol.asyncIterator]().return?.()
}

function refusal(error: unknown): unknown {
  if (!(error instanceof OutgoingError)) return error
  if (error.fault === 'refused') return UrlRefused({ message: error.message, cause: error })
  return UrlUnreachable({ message: `The file cannot be fetched: ${error.message}.`, cause: error })
}

/**
 * The name of the file in an address. Without its extension, because servers send other formats under the same address
 * (`photo.jpg` as WebP).
 */
function nameOf(url: string): string {
  const { hostname, pathname } = new URL(url)
  const last = pathname.split('/').at(-1) ?? ''
  const name = last === '' ? hostname : decoded(last)
  return name.slice(0, name.length - extname(name).length)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
