import { open, type FileHandle } from 'node:fs/promises'

/** Boxes at the top of a file; more is no file that anything has written. */
const MOST_BOXES = 10_000

/**
 * Whether a file of the MP4 family or RIFF (WAV, AVI) is shorter than it says itself. Reads headers only; false for any
 * other kind.
 */
export async function endsEarly(path: string, bytes: number): Promise<boolean> {
  await using file = await open(path)
  const head = await read(file, 0, 16)
  if (head.length < 12) return false
  const tag = head.toString('latin1', 0, 4)
  // Sizes that a recorder could not go back to fill in are 0 or the greatest there is.
  if (tag === 'RIFF') return head.readUInt32LE(4) < 0xff_ff_ff_ff && head.readUInt32LE(4) + 8 > bytes + 1
  if (/^(?:ftyp|moov|mdat|wide|free|skip|styp)$/.test(head.toString('latin1', 4, 8)))
    return await boxesEndEarly(file, bytes)
  return false
}

/** ISO/IEC 14496-12, 4.2: a 32-bit size and a type; size 1 means a 64-bit size after it, size 0 up to the end. */
async function boxesEndEarly(file: FileHandle, bytes: number): Promise<boolean> {
  let position = 0
  let hasIndex = false
  for (let box = 0; box < MOST_BOXES && position < bytes; box += 1) {
    const header = await read(file, position, 16)
    if (header.length < 8) return true
    const type = header.toString('latin1', 4, 8)
    if (type === 'moov' || type === 'moof' || type === 'meta') hasIndex = true
    const short = header.readUInt32BE(0)
    if (short === 0) return !hasIndex
    if (short === 1 && header.length < 16) return true
    const size = short === 1 ? Number(header.readBigUInt64BE(8)) : short
    // Zeroes or rubbish after the last box is common and harmless.
    if (size < 8) return !hasIndex
    position += size
  }
  return position > bytes || !hasIndex
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
