import { BadRequest } from '../core/errors.ts'

/** Which bytes of a file a body has (RFC 9110, section 14.4). */
export interface ContentRange {
  readonly start: number
  /** Undefined for `bytes *` + `/size`: the client only asks how far it is. */
  readonly end: number | undefined
}

/** @returns undefined without a header. @throws AppError bad_request for a range that is not of this file */
export function readContentRange(header: string, size: number): ContentRange | undefined {
  if (header === '') return undefined
  const match = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/.exec(header.trim())
  if (!match) throw BadRequest({ message: 'Content-Range must be `bytes <first>-<last>/<size>`.' })
  if (Number(match[3]) !== size) throw BadRequest({ message: `Content-Range must end with /${size}, the file's size.` })
  if (match[1] === undefined) return { start: 0, end: undefined }
  const [start, end] = [Number(match[1]), Number(match[2])]
  if (end < start || end >= size)
    throw BadRequest({ message: 'Content-Range names bytes that the file does not have.' })
  return { start, end }
}
