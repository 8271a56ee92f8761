import { DamagedFile, UnsafeFile } from '../errors.ts'

/** Reads `length` bytes at `start`, fewer at the end of the file. */
export type ReadAt = (start: number, length: number) => Promise<Buffer>

const TAIL_BYTES = 64 * 1024

/**
 * Whether a file ends where its format says, and nothing hides behind that. Only headers and the last bytes are read.
 * @throws AppError damaged_file, unsafe_file
 */
export async function checkEnd(type: string, size: number, readAt: ReadAt): Promise<void> {
  const start = Math.max(0, size - TAIL_BYTES)
  const tail = await readAt(start, size - start)
  if (endsAsZip(tail)) throw UnsafeFile({ message: 'The file is an archive as well.' })
  if (/<script[\s>]|<\?php/i.test(tail.toString('latin1'))) {
    if (type !== 'application/pdf') throw UnsafeFile({ message: 'The file has a script behind it.' })
  }
  if (type === 'image/png') checkPng(tail)
  else if (type === 'image/jpeg' && tail.lastIndexOf(Buffer.from([0xff, 0xd9])) === -1) throw cut()
  else if (type === 'image/gif' && tail.findLast((byte) => byte !== 0) !== 0x3b) throw cut()
  else if (type === 'image/webp') await checkRiff(size, readAt)
  else if (type === 'application/pdf' && !tail.includes('%%EOF')) throw cut()
  else if (BOXED.test(type)) await checkBoxes(type, size, readAt)
}

function cut() {
  return DamagedFile({ message: 'The file ends too early.' })
}

/** The end-of-central-directory record (APPNOTE 4.3.16) whose comment ends exactly at the end of the file. */
function endsAsZip(tail: Buffer): boolean {
  for (let at = tail.lastIndexOf('PK\u0005\u0006', undefined, 'latin1'); at !== -1;) {
    if (at + 22 <= tail.length && at + 22 + tail.readUInt16LE(at + 20) === tail.length) return true
    if (at === 0) return false
    at = tail.lastIndexOf('PK\u0005\u0006', at - 1, 'latin1')
  }
  return false
}

function checkPng(tail: Buffer): void {
  const end = tail.lastIndexOf('IEND')
  if (end === -1) throw cut()
  // Four bytes of checksum follow the name of the last chunk.
  if (end + 8 > tail.length) throw cut()
  if (tail.subarray(end + 8).some((byte) => byte !== 0)) {
    throw UnsafeFile({ message: 'Something follows the end of the picture.' })
  }
}

async function checkRiff(size: number, readAt: ReadAt): Promise<void> {
  const header = await readAt(0, 12)
  const said = header.readUInt32LE(4) + 8
  if (said > size + 1) throw cut()
  if (said + 1 < size) throw UnsafeFile({ message: 'Something follows the end of the picture.' })
}

const BOXED = /^(video\/(mp4|quicktime)|audio\/mp4|image\/(heic|heif|avif))$/
const MOST_BOXES = 10_000

/** ISO/IEC 14496-12: boxes follow each other without a gap up to the end. */
async function checkBoxes(type: string, size: number, readAt: ReadAt): Promise<void> {
  const needed = type.startsWith('image/') ? ['meta'] : ['moov']
  const seen = new Set<string>()
  let at = 0
  for (let count = 0; at < size; count += 1) {
    if (count > MOST_BOXES) throw DamagedFile({ message: 'The file is in too many pieces.' })
    const header = await readAt(at, 16)
    if (header.length < 8) throw cut()
    const short = header.readUInt32BE(0)
    const name = header.toString('latin1', 4, 8)
    const length = short === 1 && header.length === 16 ? Number(header.readBigUInt64BE(8)) : short
    seen.add(name)
    // The last box may say that it goes to the end.
    if (short === 0) break
    if (length < 8 || !/^[\u0020-\u007E\u00A9]{4}$/.test(name)) throw DamagedFile()
    at += length
  }
  if (at > size) throw cut()
  if (!needed.some((name) => seen.has(name)))
    throw DamagedFile({ message: 'The file has no description of its media.' })
}
