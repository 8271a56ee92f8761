import { open, type FileHandle } from 'node:fs/promises'
import { boxesOf, boxHeader, damaged, type Box } from './boxes.ts'
import { readMatrix, IDENTITY } from './display-matrix.ts'
import { PlayoutError } from './errors.ts'
import { readDefaults, readFragment } from './fragments.ts'
import { readTrack, type MovieHeader, type Track } from './track.ts'

/** The `moov` is in memory while a file is played. That of ten hours has about 30 MB. */
const MAX_MOOV_BYTES = 96 * 1024 * 1024
const MAX_MOOF_BYTES = 4 * 1024 * 1024
const MAX_BOXES = 400_000

/** The tables of an MP4 or QuickTime file: the first video and the first audio track. */
export interface Movie {
  readonly video: Track | undefined
  readonly audio: Track | undefined
  /** Duration from the movie header; 0 when unknown, as in fragmented files. */
  readonly seconds: number
  readonly bytes: number
}

/** Reads the tables of a file. @throws PlayoutError when it is not an MP4, is damaged, or its tables are too large */
export async function openMovie(path: string): Promise<Movie> {
  const handle = await open(path)
  try {
    return await readMovie(handle)
  } catch (error) {
    // A read past the end of the buffer means a damaged box.
    if (error instanceof RangeError) throw damaged()
    throw error
  } finally {
    await handle.close()
  }
}

async function readMovie(handle: FileHandle): Promise<Movie> {
  const { size } = await handle.stat()
  const tracks: Track[] = []
  const fragments: { position: number; length: number; header: number }[] = []
  let moov: Buffer | undefined
  let count = 0
  for (let at = 0; at + 8 <= size;) {
    const head = await readAt(handle, at, Math.min(16, size - at))
    const { type, size: declared, length } = boxHeader(head, 0)
    const boxSize = declared === 0 ? size - at : declared
    if (count++ === 0 && !['ftyp', 'moov', 'free', 'skip', 'wide', 'mdat'].includes(type)) throw notAMovie()
    // A recording that was interrupted ends within a box.
    if (boxSize < length || at + boxSize > size || count > MAX_BOXES) break
    if (type === 'moov' && moov === undefined) {
      if (boxSize > MAX_MOOV_BYTES) throw new PlayoutError('The file is too long to be streamed.')
      moov = await readAt(handle, at + length, boxSize - length)
    }
    if (type === 'moof' && boxSize <= MAX_MOOF_BYTES) fragments.push({ position: at, length: boxSize, header: length })
    at += boxSize
  }
  if (moov === undefined) throw notAMovie()
  const root = { type: 'moov', start: 0, end: moov.length }
  const boxes = boxesOf(moov)
  const header = readMovieHeader(moov, boxes)
  for (const box of boxes) {
    const track = box.type === 'trak' ? await readTrack(moov, box, header) : undefined
    if (track !== undefined) tracks.push(track)
  }
  const defaults = readDefaults(moov, root)
  for (const { position, length, header: headerBytes } of fragments) {
    const moof = await readAt(handle, position + headerBytes, length - headerBytes)
    readFragment(moof, position, tracks, defaults)
  }
  const used = tracks.filter(({ samples }) => samples.length > 0)
  for (const track of used) track.end -= track.samples.removeNegativeCompositions()
  return {
    video: used.find(({ kind }) => kind === 'video'),
    audio: used.find(({ kind }) => kind === 'audio'),
    seconds: header.duration / header.timescale,
    bytes: size,
  }
}

/** Reads `mvhd` (ISO/IEC 14496-12, 8.2.2). A duration of all ones means unknown. */
function readMovieHeader(moov: Buffer, boxes: readonly Box[]): MovieHeader & { duration: number } {
  const header = boxes.find(({ type }) => type === 'mvhd')
  if (header === undefined) return { duration: 0, timescale: 1_000, matrix: IDENTITY }
  const { start } = header
  const is64Bit = moov[start] === 1
  const timescale = moov.readUInt32BE(start + (is64Bit ? 20 : 12)) || 1_000
  const matrix = readMatrix(moov, start + (is64Bit ? 48 : 36))
  const duration = is64Bit ? Number(moov.readBigUInt64BE(start + 24)) : moov.readUInt32BE(start + 16)
  return { duration: duration === (is64Bit ? 2 ** 64 : 0xff_ff_ff_ff) ? 0 : duration, timescale, matrix }
}

/** @throws PlayoutError when the file is too short */
async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  const { bytesRead } = await handle.read(bytes, 0, length, position)
  if (bytesRead < length) throw damaged()
  return bytes
}

function notAMovie(): PlayoutError {
  return new PlayoutError('Only MP4 and QuickTime files can be streamed without conversion.')
}
