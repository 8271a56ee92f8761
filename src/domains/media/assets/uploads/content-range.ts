import { BadRequest } from '../../../../core/errors.ts'
import type { ByteRange } from '../../../../core/reply.ts'

/**
 * Parses a Content-Range header (RFC 9110, section 14.4).
 * @returns the bytes in the body; undefined without a header; `query` for an unknown range (`bytes *` and the size), with
 *   which a client asks how much has been received
 * @throws AppError bad_request if the range does not fit the file
 */
export function readContentRange(header: string, size: number): ByteRange | 'query' | undefined {
  if (header === '') return undefined
  const match = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/.exec(header.trim())
  if (!match) throw BadRequest({ message: 'Content-Range must be `bytes <first>-<last>/<size>`.' })
  if (Number(match[3]) !== size)
    throw BadRequest({ message: `Content-Range must end with /${size}, the size of the file.` })
  if (match[1] === undefined) return 'query'
  const [start, end] = [Number(match[1]), Number(match[2])]
  if (end < start || end >= size) throw BadRequest({ message: 'The range in Content-Range is outside of the file.' })
  return { start, end }
}
