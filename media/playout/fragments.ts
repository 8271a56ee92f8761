import { boxesOf, damaged, findBox, type Box } from './boxes.ts'
import type { Track } from './track.ts'

/** Default values of the samples in fragments (`trex`). */
export interface FragmentDefaults {
  readonly duration: number
  readonly size: number
  readonly flags: number
}

const NOT_A_KEYFRAME = 0x1_0000

/** Reads the defaults of each track of a fragmented movie (ISO/IEC 14496-12, 8.8.3). */
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

/** Adds the samples of a `moof` at `position` in the file to their tracks. @throws PlayoutError when it is damaged */
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
  const fields = new OptionalFields(moof, header, 8)
  const base = fields.has(0x1) ? fields.uint64() : position
  if (fields.has(0x2)) fields.uint32()
  const duration = fields.has(0x8) ? fields.uint32() : defaults.duration
  const size = fields.has(0x10) ? fields.uint32() : defaults.size
  const flags = fields.has(0x20) ? fields.uint32() : defaults.flags
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

/** Reads a `trun`. @returns the default data offset of the next run */
function readRun(
  moof: Buffer,
  run: Box,
  base: number,
  defaultOffset: number,
  track: Track,
  defaults: FragmentDefaults,
): number {
  const count = moof.readUInt32BE(run.start + 4)
  const fields = new OptionalFields(moof, run, 8)
  let offset = fields.has(0x1) ? base + (fields.uint32() | 0) : defaultOffset
  const firstFlags = fields.has(0x4) ? fields.uint32() : undefined
  for (let index = 0; index < count; index += 1) {
    const duration = fields.has(0x100) ? fields.uint32() : defaults.duration
    const size = fields.has(0x200) ? fields.uint32() : defaults.size
    const defaultFlags = index === 0 && firstFlags !== undefined ? firstFlags : defaults.flags
    const flags = fields.has(0x400) ? fields.uint32() : defaultFlags
    const composition = fields.has(0x800) ? fields.uint32() | 0 : 0
    track.samples.add(track.end, offset, size, composition, (flags & NOT_A_KEYFRAME) === 0)
    track.end += duration
    offset += size
  }
  return offset
}

/** Reads the optional fields of a full box. Its flags say which ones are present. */
class OptionalFields {
  readonly #bytes: Buffer
  readonly #end: number
  readonly #flags: number
  #offset: number

  /** @param first offset of the first optional field in the box */
  constructor(bytes: Buffer, box: Box, first: number) {
    this.#bytes = bytes
    this.#end = box.end
    this.#flags = bytes.readUIntBE(box.start + 1, 3)
    this.#offset = box.start + first
  }

  has(flag: number): boolean {
    return (this.#flags & flag) !== 0
  }

  uint32(): number {
    return this.#bytes.readUInt32BE(this.#advance(4))
  }

  uint64(): number {
    return Number(this.#bytes.readBigUInt64BE(this.#advance(8)))
  }

  #advance(length: number): number {
    const start = this.#offset
    if (start + length > this.#end) throw damaged()
    this.#offset += length
    return start
  }
}
