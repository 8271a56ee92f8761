import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { PageContent } from './server.ts'

/**
 * Pages load nothing from other sites and send nothing to them; browsers enforce it. Inline styles are allowed because
 * Scalar writes style elements.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "media-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Headers of every HTML page. */
export const GUARDED = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
}

/** The same for pages that have no inline styles and load media only from their own script. */
export const STRICT = {
  ...GUARDED,
  'Content-Security-Policy': POLICY.replace("style-src 'self' 'unsafe-inline'", "style-src 'self'")
    .replace("media-src 'self' blob:", 'media-src blob:')
    .replace("; font-src 'self' data:", ''),
}

/** Below this size, compression saves less than the headers cost. */
export const WORTH_COMPRESSING = 1_400

/** A page with an ETag of its content. Text is also stored compressed. */
export function page(
  contentType: string,
  content: string | Uint8Array,
  headers: Record<string, string> = {},
): PageContent {
  const tag = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  // As bytes, so that many slow readers share the same memory.
  const bytes = Buffer.from(content)
  const plain = { ...headers, ETag: `"${tag}"`, 'Cache-Control': 'no-cache' }
  if (headers['Content-Encoding'] !== undefined || bytes.length < WORTH_COMPRESSING) {
    return { contentType, content: bytes, headers: plain }
  }
  // Different bytes need a different ETag (RFC 9110, section 8.8.3.3).
  const encoded = { ...plain, ETag: `"${tag}-gz"`, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }
  return {
    contentType,
    content: bytes,
    headers: { ...plain, Vary: 'Accept-Encoding' },
    compressed: { content: gzipSync(bytes), headers: encoded },
  }
}

/** Whether Accept-Encoding allows gzip: by name or by `*`, and not with a weight of 0. */
export function takesGzip(acceptEncoding: string): boolean {
  const codings = acceptEncoding
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
  const found = codings.find(([name]) => name === 'gzip' || name === 'x-gzip') ?? codings.find(([name]) => name === '*')
  if (found === undefined) return false
  const parameters = found.slice(1).map((parameter) => parameter.split('=').map((piece) => piece.trim()))
  const weight = parameters.find(([name]) => name === 'q')?.[1]
  return weight === undefined || Number(weight) > 0
}
