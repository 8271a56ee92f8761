import { open, type FileHandle } from 'node:fs/promises'
import { boxesOf, boxHeader, damaged, type Box } from './boxes.ts'
import { readMatrix, UPRIGHT } from './display-matrix.ts'
import { PlayoutError } from './errors.ts'
import { readDefaults, readFragment } from './fragments.ts'
import { readTrack, type MovieFacts, type Track } from './track.ts'

/** The tables of a movie, all in memory while it is played; those of ten hours are about 30 MB. */
const MOST_MOOV = 96 * 1024 * 1024
const MOST_MOOF = 4 * 1024 * 1024
const MOST_BOXES = 400_000

/** An MP4 or QuickTime file that was looked into. The first track of each kind counts. */
export interface Movie {
  readonly video: Track | undefined
  readonly audio: Track | undefined
  /** Of the presentation, as the file's own head says it: 0 where that leaves it open, as before fragments. */
  readonly seconds: number
  readonly bytes: number
}

/** Looks into a file. @throws PlayoutError when it is no MP4, is damaged, or has a bigger index than anybody makes */
export async function openMovie(path: string): Promise<Movie> {
  const handle = await open(path)
  try {
    return await readMovie(handle)
  } catch (error) {
    // What reads beyond the end of a box meets the end of a buffer.
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
    const { type, size: said, length } = boxHeader(head, 0)
    const boxSize = said === 0 ? size - at : said
    if (count++ === 0 && !['ftyp', 'moov', 'free', 'skip', 'wide', 'mdat'].includes(type)) throw notAMovie()
    // A recording that was cut off ends in the middle of a box.
    if (boxSize < length || at + boxSize > size || count > MOST_BOXES) break
    if (type === 'moov' && moov === undefined) {
      if (boxSize > MOST_MOOV) throw new PlayoutError('The file is too long to be streamed in one piece.')
      moov = await readAt(handle, at + length, boxSize - length)
    }
    if (type === 'moof' && boxSize <= MOST_MOOF) fragments.push({ position: at, length: boxSize, header: length })
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
  for (const { position, length, header: skipped } of fragments) {
    readFragment(await readAt(handle, position + skipped, length - skipped), position, tracks, defaults)
  }
  const used = tracks.filter(({ samples }) => samples.length > 0)
  for (const track of used) track.end -= track.samples.decodeBeforeShown()
  return {
    video: used.find(({ kind }) => kind === 'video'),
    audio: used.find(({ kind }) => kind === 'audio'),
    seconds: header.duration / header.timescale,
    bytes: size,
  }
}

/** `mvhd` (ISO/IEC 14496-12, 8.2.2); all ones are a length that nobody knew. */
function readMovieHeader(moov: Buffer, boxes: readonly Box[]): MovieFacts & { duration: number } {
  const header = boxes.find(({ type }) => type === 'mvhd')
  if (header === undefined) return { duration: 0, timescale: 1_000, matrix: UPRIGHT }
  const { start } = header
  const long = moov[start] === 1
  const timescale = moov.readUInt32BE(start + (long ? 20 : 12)) || 1_000
  const matrix = readMatrix(moov, start + (long ? 48 : 36))
  const duration = long ? Number(moov.readBigUInt64BE(start + 24)) : moov.readUInt32BE(start + 16)
  return { duration: duration === (long ? 2 ** 64 : 0xff_ff_ff_ff) ? 0 : duration, timescale, matrix }
}

/** @throws PlayoutError when the file ends before */
async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  const { bytesRead } = await handle.read(bytes, 0, length, position)
  if (bytesRead < length) throw damaged()
  return bytes
}

function notAMovie(): PlayoutError {
  return new PlayoutError('Only MP4 and QuickTime files can be streamed as they are.')
}
