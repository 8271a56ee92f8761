import { PlayoutError } from './errors.ts'

/** A box of the ISO base media file format (ISO/IEC 14496-12), by the place of its content in a buffer. */
export interface Box {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** The boxes between two offsets. @throws PlayoutError when one reaches beyond the end */
export function boxesOf(bytes: Buffer, start = 0, end = bytes.length): Box[] {
  const found: Box[] = []
  for (let at = start; at + 8 <= end;) {
    const header = boxHeader(bytes, at)
    const size = header.size === 0 ? end - at : header.size
    if (size < header.length || at + size > end) throw damaged()
    found.push({ type: header.type, start: at + header.length, end: at + size })
    at += size
  }
  return found
}

/** What a box says of itself: `size` with its header, 0 for "to the end", and the length of the header. */
export function boxHeader(bytes: Buffer, at: number): { type: string; size: number; length: number } {
  const size = bytes.readUInt32BE(at)
  const type = bytes.toString('latin1', at + 4, at + 8)
  if (size !== 1) return { type, size, length: 8 }
  if (at + 16 > bytes.length) throw damaged()
  return { type, size: Number(bytes.readBigUInt64BE(at + 8)), length: 16 }
}

/** The first box of a kind, or the one at the end of a path of kinds. */
export function findBox(bytes: Buffer, parent: Box, ...path: string[]): Box | undefined {
  let box: Box | undefined = parent
  for (const type of path) {
    box = boxesOf(bytes, box.start, box.end).find((one) => one.type === type)
    if (box === undefined) return undefined
  }
  return box
}

export function damaged(): PlayoutError {
  return new PlayoutError('The file is damaged.')
}
