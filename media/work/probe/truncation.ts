import { open, type FileHandle } from 'node:fs/promises'

/** Maximum number of top-level boxes to read. Real files have fewer. */
const MAX_BOXES = 10_000

/**
 * Whether a file of the MP4 family or RIFF (WAV, AVI) is shorter than its headers declare. Reads only headers. False for
 * other formats.
 */
export async function isTruncated(path: string, bytes: number): Promise<boolean> {
  await using file = await open(path)
  const head = await read(file, 0, 16)
  if (head.length < 12) return false
  const tag = head.toString('latin1', 0, 4)
  // A recorder that could not fill in the final size leaves 0 or the maximum.
  if (tag === 'RIFF') return head.readUInt32LE(4) < 0xff_ff_ff_ff && head.readUInt32LE(4) + 8 > bytes + 1
  if (/^(?:ftyp|moov|mdat|wide|free|skip|styp)$/.test(head.toString('latin1', 4, 8)))
    return await areBoxesTruncated(file, bytes)
  return false
}

/** ISO/IEC 14496-12, 4.2: a 32-bit size and a type. Size 1 means that a 64-bit size follows, size 0 that the box extends to the end. */
async function areBoxesTruncated(file: FileHandle, bytes: number): Promise<boolean> {
  let position = 0
  let hasIndex = false
  for (let box = 0; box < MAX_BOXES && position < bytes; box += 1) {
    const header = await read(file, position, 16)
    if (header.length < 8) return true
    const type = header.toString('latin1', 4, 8)
    if (type === 'moov' || type === 'moof' || type === 'meta') hasIndex = true
    const short = header.readUInt32BE(0)
    if (short === 0) return !hasIndex
    if (short === 1 && header.length < 16) return true
    const size = short === 1 ? Number(header.readBigUInt64BE(8)) : short
    // Zeros or other data after the last box are common and harmless.
    if (size < 8) return !hasIndex
    position += size
  }
  return position > bytes || !hasIndex
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
