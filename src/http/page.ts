import { createHash } from 'node:crypto'
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

/** A page as it is sent, with an ETag of its content. */
export function page(
  contentType: string,
  content: string | Uint8Array,
  headers: Record<string, string> = {},
): PageContent {
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  // As bytes: what waits for many slow readers is the same memory.
  return {
    contentType,
    content: Buffer.from(content),
    headers: { ...headers, ETag: etag, 'Cache-Control': 'no-cache' },
  }
}
