import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { PageContent } from './server.ts'

/**
 * Nothing of a page is loaded from elsewhere and nothing is sent elsewhere: the browser itself is told so. Scalar
 * writes style elements, hence the inline styles.
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

/** Headers of every page that a browser shows. */
export const GUARDED = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
}

/** The same for pages that write no styles of their own and take media from nowhere but their own script. */
export const STRICT = {
  ...GUARDED,
  'Content-Security-Policy': POLICY.replace("style-src 'self' 'unsafe-inline'", "style-src 'self'")
    .replace("media-src 'self' blob:", 'media-src blob:')
    .replace("; font-src 'self' data:", ''),
}

/** Below this, compression saves less than the headers cost. */
const WORTH_COMPRESSING = 1_400

/** A page as it is sent, with an ETag of its content; text is kept compressed too. */
export function page(
  contentType: string,
  content: string | Uint8Array,
  headers: Record<string, string> = {},
): PageContent {
  const tag = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  // As bytes: what waits for many slow readers is the same memory.
  const bytes = Buffer.from(content)
  const plain = { ...headers, ETag: `"${tag}"`, 'Cache-Control': 'no-cache' }
  if (headers['Content-Encoding'] !== undefined || bytes.length < WORTH_COMPRESSING) {
    return { contentType, content: bytes, headers: plain }
  }
  // Other bytes have another ETag (RFC 9110, section 8.8.3.3).
  const encoded = { ...plain, ETag: `"${tag}-gz"`, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }
  return {
    contentType,
    content: bytes,
    headers: { ...plain, Vary: 'Accept-Encoding' },
    compressed: { content: gzipSync(bytes), headers: encoded },
  }
}

/** Whether Accept-Encoding takes gzip: named, or by `*`, and not with a weight of 0. */
export function takesGzip(acceptEncoding: string): boolean {
  const codings = acceptEncoding.split(',').map((part) =>
    part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/),
  )
  const found = codings.find(([name]) => name === 'gzip' || name === 'x-gzip') ?? codings.find(([name]) => name === '*')
  return found !== undefined && Number(found[1] ?? 1) > 0
}
