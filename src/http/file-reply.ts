import { contentDisposition } from '../tools/content-disposition.ts'
import { RangeNotSatisfiable } from '../core/errors.ts'
import type { ByteRange, FileOptions } from '../core/reply.ts'
import { knows } from './entity-tag.ts'
import type { HttpExchange } from './exchange.ts'

/**
 * Sends a file, or the requested range (RFC 9110, section 14).
 * @returns the status, once the last byte was handed to the socket
 * @throws AppError range_not_satisfiable; any error of opening the file
 */
export async function sendFile(exchange: HttpExchange, common: [string, string][], file: FileOptions): Promise<number> {
  const etag = `"${file.etag}"`
  const headers: [string, string][] = [...common, ['ETag', etag], ['Accept-Ranges', 'bytes']]
  headers.push(['Cache-Control', file.cache ?? 'private, no-cache'])
  if (file.modifiedAt !== undefined) headers.push(['Last-Modified', new Date(file.modifiedAt).toUTCString()])
  if (knows(exchange.headers.ifNoneMatch, etag)) {
    exchange.send(304, headers, '')
    return 304
  }
  headers.push(['Content-Type', file.contentType])
  headers.push(['Content-Disposition', contentDisposition(file.disposition, file.name)])
  // No file may run scripts or be framed by another site, whatever its content.
  headers.push(['Content-Security-Policy', "default-src 'none'; sandbox"])
  const range = isCurrent(exchange.extra['if-range'] ?? '', etag, file.modifiedAt)
    ? readRange(exchange.extra['range'] ?? '', file.size)
    : undefined
  if (range === 'unsatisfiable') {
    throw RangeNotSatisfiable({
      message: `The file has ${file.size} bytes. Request a range within them, or the whole file.`,
      details: { size: file.size },
    })
  }
  const status = range ? 206 : 200
  if (range) headers.push(['Content-Range', `bytes ${range.start}-${range.end}/${file.size}`])
  const length = range ? range.end - range.start + 1 : file.size
  if (exchange.headOnly || length === 0) exchange.sendEmpty(status, headers, length)
  else await exchange.sendStream(status, headers, await file.open(range), length)
  return status
}

/** Whether If-Range allows the range: it is empty, the strong tag, or the exact date. */
function isCurrent(ifRange: string, etag: string, modifiedAt: string | undefined): boolean {
  if (ifRange === '' || ifRange === etag) return true
  return modifiedAt !== undefined && ifRange === new Date(modifiedAt).toUTCString()
}

/**
 * Parses one range of bytes. Multiple ranges, other units and invalid ranges return the whole file, as RFC 9110
 * allows.
 */
export function readRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/i.exec(header.trim())
  if (!match || (match[1] === '' && match[2] === '')) return undefined
  if (match[1] === '') {
    const last = Number(match[2])
    if (last === 0 || size === 0) return 'unsatisfiable'
    return { start: Math.max(0, size - last), end: size - 1 }
  }
  const start = Number(match[1])
  const end = match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1)
  if (start >= size) return 'unsatisfiable'
  return end < start ? undefined : { start, end }
}
