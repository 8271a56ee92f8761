import { isUtf8 } from 'node:buffer'
import { pipeline, Readable, type Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { MimeNode, RewriterNode } from '@zone-eu/mailsplit'
import { decodeUndeclared } from './charset.ts'

/** Charsets that say nothing: programs write them for any bytes. */
const EMPTY_CHARSET = /^(us-?ascii|ascii|utf-?8|unknown-8bit|x-unknown|default|none)?$/i
/** A type and a subtype (RFC 2045, 5.1). */
const TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/
const HTML = /^\s*(?:<!--[^]{0,500}?-->\s*)?<(?:!doctype|html|head|body|div|p|table|meta|span|br)\b/i

/**
 * Mends what mail programs get wrong, so that the parser reads every text: headers and text parts without a charset, or
 * with one that their bytes do not fit, become UTF-8, and a part whose Content-Type cannot be read becomes text or HTML by
 * its content.
 * @param raw a mail (RFC 5322)
 */
export async function mendMail(raw: Buffer): Promise<Buffer> {
  const { Joiner, Rewriter, Splitter } = await import('@zone-eu/mailsplit')
  const rewriter = new Rewriter(isDoubtful)
  rewriter.on('node', (part) => void rewrite(part))
  const joiner = new Joiner() as unknown as Duplex
  // An error of one of them ends the last one, so `buffer` rejects.
  pipeline([Readable.from([withReadableHeaders(raw)]), new Splitter(), rewriter, joiner], () => undefined)
  return buffer(joiner)
}

async function rewrite({ decoder, encoder, node }: RewriterNode): Promise<void> {
  const text = decodeUndeclared(await buffer(decoder))
  if (!isTyped(node) || node.multipart !== false) node.setContentType(HTML.test(text) ? 'text/html' : 'text/plain')
  node.setCharset('utf-8')
  encoder.end(text)
}

/** Headers are ASCII, or UTF-8 (RFC 6532). Some programs write the charset of their machine. */
function withReadableHeaders(raw: Buffer): Buffer {
  const ends = ['\r\n\r\n', '\n\n'].map((gap) => raw.indexOf(gap)).filter((at) => at !== -1)
  const end = ends.length === 0 ? raw.length : Math.min(...ends)
  const headers = raw.subarray(0, end)
  return isUtf8(headers) ? raw : Buffer.concat([Buffer.from(decodeUndeclared(headers)), raw.subarray(end)])
}

function isDoubtful(node: MimeNode): boolean {
  if (node.multipart !== false) return !hasBoundary(node)
  if (node.disposition === 'attachment' || node.filename !== false) return false
  if (!isTyped(node)) return true
  const isText = node.contentType === 'text/plain' || node.contentType === 'text/html'
  return isText && EMPTY_CHARSET.test((node.charset || '').trim())
}

/** A multipart without a boundary has no parts. Its content is read as text. */
function hasBoundary({ headers }: MimeNode): boolean {
  return headers !== false && /;\s*boundary\*?\d*\*?\s*=/i.test(headers.getFirst('Content-Type'))
}

/** A root without a Content-Type is text. */
function isTyped({ contentType }: MimeNode): boolean {
  return contentType !== false && TYPE.test(contentType)
}
