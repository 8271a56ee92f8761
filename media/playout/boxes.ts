import { PlayoutError } from './errors.ts'

/** A box of the ISO base media file format (ISO/IEC 14496-12). `start` and `end` are the offsets of its content. */
export interface Box {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** Lists the boxes between two offsets. @throws PlayoutError when one reaches past the end */
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

/** Reads a box header. `size` includes the header, and 0 means "to the end". `length` is the size of the header. */
export function boxHeader(bytes: Buffer, at: number): { type: string; size: number; length: number } {
  const size = bytes.readUInt32BE(at)
  const type = bytes.toString('latin1', at + 4, at + 8)
  if (size !== 1) return { type, size, length: 8 }
  if (at + 16 > bytes.length) throw damaged()
  return { type, size: Number(bytes.readBigUInt64BE(at + 8)), length: 16 }
}

/** Finds the first box at a path of types below `parent`. */
export function findBox(bytes: Buffer, parent: Box, ...path: string[]): Box | undefined {
  let box: Box | undefined = parent
  for (const type of path) {
    box = boxesOf(bytes, box.start, box.end).find((one) => one.type === type)
    if (box === undefined) return undefined
  }
  return box
}

/** The error for a file that cannot be parsed. */
export function damaged(): PlayoutError {
  return new PlayoutError('The file is damaged.')
}
