import { BadRequest } from '../../../../core/errors.ts'
import type { ByteRange } from '../../../../core/reply.ts'

/**
 * Which bytes of a file a body has (RFC 9110, section 14.4).
 * @returns undefined without a header; `asked` for `bytes *` + `/size`: the client only asks how far it is
 * @throws AppError bad_request for a range that is not of this file
 */
export function readContentRange(header: string, size: number): ByteRange | 'asked' | undefined {
  if (header === '') return undefined
  const match = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/.exec(header.trim())
  if (!match) throw BadRequest({ message: 'Content-Range must be `bytes <first>-<last>/<size>`.' })
  if (Number(match[3]) !== size) throw BadRequest({ message: `Content-Range must end with /${size}, the file's size.` })
  if (match[1] === undefined) return 'asked'
  const [start, end] = [Number(match[1]), Number(match[2])]
  if (end < start || end >= size)
    throw BadRequest({ message: 'Content-Range names bytes that the file does not have.' })
  return { start, end }
}
