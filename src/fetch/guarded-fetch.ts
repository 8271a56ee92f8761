import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { AppError } from '../core/error.ts'
import { UrlRefused, UrlUnreachable } from './errors.ts'
import { pinned, raced } from './outgoing.ts'
import { findTarget, OPEN_RULES, type Target, type TargetRules } from './target.ts'

export interface FetchLimits {
  /** How many bytes are read. The rest is ignored. */
  readonly maxBytes: number
  /** The timeout for everything including redirects, in milliseconds. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Added to the usual headers, or sent instead of them. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The first bytes of a URL's content. */
export interface Fetched {
  /** The URL after redirects. */
  readonly url: string
  readonly status: number
  readonly contentType: string
  /** The size of the whole file; undefined when the server does not send it. */
  readonly size: number | undefined
  readonly bytes: Buffer
  /** Whether `bytes` is the whole file. */
  readonly complete: boolean
}

const MAX_REDIRECTS = 5
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/**
 * Fetches URLs of users. Each hop is looked up and checked once, and the connection uses the checked addresses, so that
 * a second lookup cannot return another one (DNS rebinding). Host name and certificate stay those of the URL.
 * Credentials are never sent.
 */
export class GuardedFetcher {
  readonly #rules: TargetRules

  constructor(rules: TargetRules = {}) {
    this.#rules = rules
  }

  static of(allowPrivateAddresses: boolean): GuardedFetcher {
    return new GuardedFetcher(allowPrivateAddresses ? OPEN_RULES : {})
  }

  /** @throws AppError url_refused, url_unreachable */
  async get(url: string, { headers = {}, maxBytes, signal: given, timeoutMs }: FetchLimits): Promise<Fetched> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = given ? AbortSignal.any([given, timeout]) : timeout
    let next = url
    try {
      for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
        const target = await raced(findTarget(next, this.#rules), signal)
        const reply = await send(target, { headers, maxBytes, signal })
        const { location } = reply.headers
        if (!REDIRECTS.has(reply.statusCode ?? 0) || location === undefined) {
          return await read(reply, target, maxBytes)
        }
        reply.destroy()
        next = URL.parse(location, target.url.href)?.href ?? ''
      }
    } catch (error) {
      if (error instanceof AppError) throw error
      const why = timeout.aborted ? `did not respond within ${timeoutMs / 1000} s` : 'cannot be reached'
      throw UrlUnreachable({ message: `The server of the URL ${why}.`, cause: error })
    }
    throw UrlRefused({ message: `The URL redirects more than ${MAX_REDIRECTS} times.` })
  }
}

function send(
  target: Target,
  { headers, maxBytes, signal }: Required<Pick<FetchLimits, 'headers' | 'maxBytes' | 'signal'>>,
): Promise<IncomingMessage> {
  const { url } = target
  const secure = url.protocol === 'https:'
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)({
      ...pinned(target),
      method: 'GET',
      agent: false,
      signal,
      headers: {
        Host: url.host,
        'User-Agent': 'Crier/0.1 (media check)',
        Accept: '*/*',
        'Accept-Encoding': 'identity',
        Range: `bytes=0-${maxBytes - 1}`,
        Connection: 'close',
        ...headers,
      },
    })
    request.on('response', resolve)
    request.on('error', reject)
    request.end()
  })
}

async function read(reply: IncomingMessage, { url }: Target, maxBytes: number): Promise<Fetched> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    // Leaving the loop closes the connection, so that further data is never read.
    if (length >= maxBytes) break
  }
  const size = sizeOf(reply)
  const bytes = Buffer.concat(chunks).subarray(0, maxBytes)
  return {
    url: url.href,
    status: reply.statusCode ?? 0,
    contentType: reply.headers['content-type'] ?? '',
    size: size ?? (length < maxBytes ? length : undefined),
    bytes,
    complete: size === undefined ? length < maxBytes : bytes.length === size,
  }
}

function sizeOf({ headers, statusCode }: IncomingMessage): number | undefined {
  const total = /\/(\d{1,15})$/.exec(headers['content-range'] ?? '')?.[1]
  if (statusCode === 206) return total === undefined ? undefined : Number(total)
  const length = Number(headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : undefined
}
