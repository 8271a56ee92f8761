import { boxesOf, damaged, findBox, type Box } from './boxes.ts'
import type { Track } from './track.ts'

/** What fragments leave out because the movie said it once (`trex`). */
export interface FragmentDefaults {
  readonly duration: number
  readonly size: number
  readonly flags: number
}

const NOT_A_KEYFRAME = 0x1_0000

/** Defaults of each track of a fragmented movie (ISO/IEC 14496-12, 8.8.3). */
export function readDefaults(moov: Buffer, root: Box): Map<number, FragmentDefaults> {
  const extends_ = findBox(moov, root, 'mvex')
  const boxes = extends_ === undefined ? [] : boxesOf(moov, extends_.start, extends_.end)
  return new Map(
    boxes
      .filter(({ type }) => type === 'trex')
      .map(({ start }) => [
        moov.readUInt32BE(start + 4),
        {
          duration: moov.readUInt32BE(start + 12),
          size: moov.readUInt32BE(start + 16),
          flags: moov.readUInt32BE(start + 20),
        },
      ]),
  )
}

/** Adds the samples of a `moof` that lies at `position` in the file to their tracks. @throws PlayoutError */
export function readFragment(
  moof: Buffer,
  position: number,
  tracks: readonly Track[],
  defaults: ReadonlyMap<number, FragmentDefaults>,
): void {
  for (const traf of boxesOf(moof)) {
    if (traf.type !== 'traf') continue
    const header = findBox(moof, traf, 'tfhd')
    const track = header && tracks.find(({ id }) => id === moof.readUInt32BE(header.start + 4))
    if (header === undefined || track === undefined) continue
    readRuns(moof, traf, header, position, track, defaults.get(track.id))
  }
}

function readRuns(
  moof: Buffer,
  traf: Box,
  header: Box,
  position: number,
  track: Track,
  defaults: FragmentDefaults = { duration: 0, size: 0, flags: 0 },
): void {
  const read = fields(moof, header, 8)
  const base = read(0x1) ? read.long() : position
  if (read(0x2)) read.next()
  const duration = read(0x8) ? read.next() : defaults.duration
  const size = read(0x10) ? read.next() : defaults.size
  const flags = read(0x20) ? read.next() : defaults.flags
  const decodeTime = findBox(moof, traf, 'tfdt')
  if (decodeTime !== undefined) {
    const { start } = decodeTime
    track.end = moof[start] === 1 ? Number(moof.readBigUInt64BE(start + 4)) : moof.readUInt32BE(start + 4)
  }
  let offset = base
  for (const run of boxesOf(moof, traf.start, traf.end)) {
    if (run.type === 'trun') offset = readRun(moof, run, base, offset, track, { duration, size, flags })
  }
}

/** @returns where the data of the next run lies, if it does not say so itself */
function readRun(
  moof: Buffer,
  run: Box,
  base: number,
  follows: number,
  track: Track,
  defaults: FragmentDefaults,
): number {
  const count = moof.readUInt32BE(run.start + 4)
  const read = fields(moof, run, 8)
  let offset = read(0x1) ? base + (read.next() | 0) : follows
  const first = read(0x4) ? read.next() : undefined
  for (let index = 0; index < count; index += 1) {
    const duration = read(0x100) ? read.next() : defaults.duration
    const size = read(0x200) ? read.next() : defaults.size
    const flags = read(0x400) ? read.next() : index === 0 && first !== undefined ? first : defaults.flags
    const composition = read(0x800) ? read.next() | 0 : 0
    track.samples.add(track.end, offset, size, composition, (flags & NOT_A_KEYFRAME) === 0)
    track.end += duration
    offset += size
  }
  return offset
}

/** Reads the optional fields of a box, whose flags say which of them are there. */
function fields(bytes: Buffer, box: Box, from: number) {
  const flags = bytes.readUIntBE(box.start + 1, 3)
  let at = box.start + from
  const take = (length: number): number => {
    if (at + length > box.end) throw damaged()
    at += length
    return at - length
  }
  return Object.assign((flag: number): boolean => (flags & flag) !== 0, {
    next: (): number => bytes.readUInt32BE(take(4)),
    long: (): number => Number(bytes.readBigUInt64BE(take(8))),
  })
}
