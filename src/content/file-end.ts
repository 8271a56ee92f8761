import { DamagedFile, UnsafeFile } from './errors.ts'
import { scanStart } from './jpeg.ts'

/** Reads `length` bytes at `start`, or fewer at the end of the file. */
export type ReadAt = (start: number, length: number) => Promise<Buffer>

/** Enough for the longest comment of a ZIP archive and the record before it. */
const TAIL_BYTES = 66 * 1024

/**
 * Checks that a file ends where its format says, with nothing after it. Reads only headers and the last bytes.
 * @throws AppError damaged_file, unsafe_file
 */
export async function checkEnd(type: string, size: number, readAt: ReadAt): Promise<void> {
  const start = Math.max(0, size - TAIL_BYTES)
  const tail = await readAt(start, size - start)
  if (endsAsZip(tail))
    throw UnsafeFile({ message: 'The file is also an archive. Save it again with a standard program.' })
  if (/<script[\s>]|<\?php/i.test(tail.toString('latin1'))) {
    if (type !== 'application/pdf')
      throw UnsafeFile({ message: 'A script follows the content of the file. Save it again with a standard program.' })
  }
  if (type === 'image/png') checkPng(tail)
  else if (type === 'image/jpeg') await checkJpeg(tail, start, readAt)
  else if (type === 'image/gif' && tail.findLast((byte) => byte !== 0) !== 0x3b) throw truncated()
  else if (type === 'image/webp') await checkWebp(size, readAt)
  else if (type === 'audio/wav') await checkWav(size, readAt)
  else if (MATROSKA.test(type)) await checkMatroska(size, readAt)
  else if (type === 'application/pdf' && !tail.includes('%%EOF')) throw truncated()
  else if (BOXED.test(type)) await checkBoxes(type, size, readAt)
}

function truncated() {
  return DamagedFile({ message: 'The file is truncated. Send the original file again.' })
}

const ARCHIVE_END = 'PK\u0005\u0006'
const DIRECTORY_ENTRY = 0x02014b50

/**
 * Looks for the end-of-central-directory record (APPNOTE 4.3.16) as ZIP programs do: its comment extends to the end
 * of the file, or the directory that it points to precedes it.
 */
function endsAsZip(tail: Buffer): boolean {
  for (let at = tail.lastIndexOf(ARCHIVE_END, undefined, 'latin1'); at !== -1;) {
    if (at + 22 <= tail.length) {
      const directory = at - tail.readUInt32LE(at + 12)
      if (at + 22 + tail.readUInt16LE(at + 20) === tail.length) return true
      if (directory >= 0 && directory < at && tail.readUInt32LE(directory) === DIRECTORY_ENTRY) return true
    }
    if (at === 0) return false
    at = tail.lastIndexOf(ARCHIVE_END, at - 1, 'latin1')
  }
  return false
}

/** Looks for the end marker of the image itself. A thumbnail in the header has an end marker too. */
async function checkJpeg(tail: Buffer, start: number, readAt: ReadAt): Promise<void> {
  const scan = start < TAIL_BYTES ? scanStart(await readAt(0, TAIL_BYTES)) : 0
  if (start + tail.lastIndexOf(Buffer.from([0xff, 0xd9])) < Math.max(scan, start)) throw truncated()
}

function checkPng(tail: Buffer): void {
  const end = tail.lastIndexOf('IEND')
  if (end === -1) throw truncated()
  // Four bytes of checksum follow the name of the last chunk.
  if (end + 8 > tail.length) throw truncated()
  if (tail.subarray(end + 8).some((byte) => byte !== 0)) {
    throw UnsafeFile({ message: 'There is data after the end of the image. Save it again with a standard program.' })
  }
}

async function checkWebp(size: number, readAt: ReadAt): Promise<void> {
  const declared = await riffSize(readAt)
  if (declared > size + 1) throw truncated()
  if (declared + 1 < size)
    throw UnsafeFile({ message: 'There is data after the end of the image. Save it again with a standard program.' })
}

/** Recorders that do not know the final size write this value or a larger one. */
const UNKNOWN_RIFF = 0x7fff0000

async function checkWav(size: number, readAt: ReadAt): Promise<void> {
  const declared = await riffSize(readAt)
  if (declared > size + 1 && declared < UNKNOWN_RIFF) throw truncated()
}

/** The size of the whole file in bytes, according to its header. */
async function riffSize(readAt: ReadAt): Promise<number> {
  return (await readAt(0, 12)).readUInt32LE(4) + 8
}

const MATROSKA = /^video\/(webm|matroska)$/
const SEGMENT = 0x18538067

/** RFC 9559, section 5: a header, then a segment with everything else. Live recordings have a segment of unknown size. */
async function checkMatroska(size: number, readAt: ReadAt): Promise<void> {
  const head = await readAt(0, 256)
  const header = elementSize(head, 4)
  const at = header === undefined ? Infinity : header.end + header.size
  if (at + 12 > head.length || head.readUInt32BE(at) !== SEGMENT) return
  const segment = elementSize(head, at + 4)
  if (segment !== undefined && segment.end + segment.size > size) throw truncated()
}

/** RFC 8794, section 4: the leading zeros of the first byte give the number of bytes. @returns undefined for an unknown size */
function elementSize(head: Buffer, at: number): { size: number; end: number } | undefined {
  const bytes = Math.clz32(head[at] ?? 0) - 23
  if (bytes > 8 || at + bytes > head.length) return undefined
  const mask = 2n ** BigInt(bytes * 7) - 1n
  const size = BigInt(`0x${head.toString('hex', at, at + bytes)}`) & mask
  return size === mask ? undefined : { size: Number(size), end: at + bytes }
}

const BOXED = /^(video\/(mp4|quicktime)|audio\/mp4|image\/(heic|heif|avif))$/
/** Each box takes one read. Only fragmented files have this many: about two boxes per half second. */
const MAX_BOXES = 500

/**
 * ISO/IEC 14496-12: boxes follow each other without gaps to the end of the file. Fragments are independent, so a file with
 * many of them is accepted once the first `MAX_BOXES` are valid.
 */
async function checkBoxes(type: string, size: number, readAt: ReadAt): Promise<void> {
  const needed = type.startsWith('image/') ? ['meta'] : ['moov']
  const seen = new Set<string>()
  let at = 0
  for (let count = 0; at < size; count += 1) {
    if (count > MAX_BOXES) {
      if (!seen.has('moof'))
        throw DamagedFile({ message: 'The file consists of too many parts. Save it again with a standard program.' })
      break
    }
    const header = await readAt(at, 16)
    if (header.length < 8) throw truncated()
    const short = header.readUInt32BE(0)
    const name = header.toString('latin1', 4, 8)
    const length = short === 1 && header.length === 16 ? Number(header.readBigUInt64BE(8)) : short
    seen.add(name)
    // Size 0 means that the box extends to the end of the file.
    if (short === 0) break
    if (length < 8 || !/^[\u0020-\u007E\u00A9]{4}$/.test(name)) throw DamagedFile()
    at += length
  }
  if (at > size) throw truncated()
  if (!needed.some((name) => seen.has(name)))
    throw DamagedFile({ message: 'The file has no metadata box for its media. Save it again with a standard program.' })
}
