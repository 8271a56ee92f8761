import { box, full, text, u16, u32, zeros } from './box-writer.ts'

/** Boxes of fragmented MP4 (ISO/IEC 14496-12, 8.8). Times are milliseconds throughout. */

export interface RecordedTrack {
  readonly id: number
  readonly kind: 'video' | 'audio'
  /** The sample entry: what it is coded with, and its configuration. */
  readonly entry: Buffer
  /** What a reader has to know beyond the base format; a brand (ISO/IEC 14496-12, annex E). */
  readonly brand?: string
  /** In front of each keyframe, where the configuration may change within the track. */
  readonly parameterSets?: Buffer
  /** Pixels; 0 of sound. */
  readonly width: number
  readonly height: number
}

export interface RecordedSample {
  readonly decodeTime: number
  readonly duration: number
  readonly composition: number
  readonly isKeyframe: boolean
  readonly data: Buffer
}

const TIMESCALE = 1_000
const SYNC_SAMPLE = 0x0200_0000
const OTHER_SAMPLE = 0x0101_0000
/** Undetermined, as ISO 639-2 packed into 15 bits. */
const UNDETERMINED = 0x55c4
const UNITY = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000]

/** What a file begins with: what it is, and its tracks. `duration` comes when it is known: see {@link durationPatches}. */
export function initSegment(tracks: readonly RecordedTrack[]): Buffer {
  const brands = tracks.flatMap(({ brand }) => brand ?? [])
  // By the major brand, programs tell a file of sound from a video.
  const major = tracks.some(({ kind }) => kind === 'video') ? 'isom' : 'M4A '
  if (major !== 'isom') brands.unshift(major)
  return Buffer.concat([
    box('ftyp', text(major), u32(0x200), ...['isom', 'iso6', 'mp41', ...brands].map(text)),
    box('moov', movieHeader(tracks), ...tracks.map(trackBox), extensions(tracks)),
  ])
}

/**
 * One fragment: its headers, to be followed by the samples' data in the same order.
 * @param runs samples by track; none of them empty
 */
export function fragmentHeader(
  sequence: number,
  runs: readonly { readonly track: RecordedTrack; readonly samples: readonly RecordedSample[] }[],
): Buffer {
  const lengths = runs.map(({ samples }) => samples.reduce((sum, { data }) => sum + data.length, 0))
  // Offsets count from the beginning of this box, whose length does not depend on them.
  const build = (first: number): Buffer => {
    let offset = first
    const trafs = runs.map(({ samples, track }, index) => {
      const built = trackFragment(track, samples, offset)
      offset += lengths[index] ?? 0
      return built
    })
    return box('moof', full('mfhd', 0, 0, u32(sequence)), ...trafs)
  }
  const moof = build(build(0).length + 8)
  const total = lengths.reduce((sum, length) => sum + length, 8)
  return Buffer.concat([moof, u32(total), text('mdat')])
}

/** What is written over the beginning of a file when its duration is known: pieces with their positions. */
export function durationPatches(head: Buffer, duration: number): { position: number; bytes: Buffer }[] {
  const header = head.indexOf('mvhd', 0, 'latin1')
  const room = head.indexOf('free', 0, 'latin1')
  if (header < 0 || room < 0) return []
  const value = u32(Math.min(duration, 0xffff_ffff))
  return [
    { position: header + 4 + 16, bytes: value },
    { position: room, bytes: Buffer.concat([text('mehd'), u32(0), value]) },
  ]
}

function trackFragment({ id }: RecordedTrack, samples: readonly RecordedSample[], dataOffset: number): Buffer {
  const entries = Buffer.alloc(samples.length * 16)
  samples.forEach(({ composition, data, duration, isKeyframe }, index) => {
    entries.writeUInt32BE(duration, index * 16)
    entries.writeUInt32BE(data.length, index * 16 + 4)
    entries.writeUInt32BE(isKeyframe ? SYNC_SAMPLE : OTHER_SAMPLE, index * 16 + 8)
    entries.writeInt32BE(composition, index * 16 + 12)
  })
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(samples[0]?.decodeTime ?? 0))
  return box(
    'traf',
    // The flag: offsets count from the fragment.
    full('tfhd', 0, 0x2_0000, u32(id)),
    full('tfdt', 1, 0, time),
    // Signed composition times; each sample says duration, size, flags and composition.
    full('trun', 1, 0xf01, u32(samples.length), u32(dataOffset), entries),
  )
}

function movieHeader(tracks: readonly RecordedTrack[]): Buffer {
  const rest = [u32(0x1_0000), u16(0x100), zeros(10), ...UNITY.map(u32), zeros(24), u32(tracks.length + 1)]
  return full('mvhd', 0, 0, u32(0), u32(0), u32(TIMESCALE), u32(0), ...rest)
}

/** With room for the duration, which is not known yet. */
function extensions(tracks: readonly RecordedTrack[]): Buffer {
  const defaults = tracks.map(({ id }) => full('trex', 0, 0, u32(id), u32(1), u32(0), u32(0), u32(0)))
  return box('mvex', box('free', zeros(8)), ...defaults)
}

function trackBox(track: RecordedTrack): Buffer {
  const { entry, height, id, kind, width } = track
  const isVideo = kind === 'video'
  const layout = [zeros(8), u16(0), u16(isVideo ? 0 : 1), u16(isVideo ? 0 : 0x100), u16(0)]
  const size = [...UNITY.map(u32), u32(width * 0x1_0000), u32(height * 0x1_0000)]
  const header = full('tkhd', 0, 3, u32(0), u32(0), u32(id), u32(0), u32(0), ...layout, ...size)
  const media = full('mdhd', 0, 0, u32(0), u32(0), u32(TIMESCALE), u32(0), u16(UNDETERMINED), u16(0))
  const handler = full('hdlr', 0, 0, u32(0), text(isVideo ? 'vide' : 'soun'), zeros(12), zeros(1))
  const kindHeader = isVideo ? full('vmhd', 0, 1, zeros(8)) : full('smhd', 0, 0, zeros(4))
  const where = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)))
  const empty = ['stts', 'stsc', 'stco'].map((name) => full(name, 0, 0, u32(0)))
  const table = box('stbl', full('stsd', 0, 0, u32(1), entry), ...empty, full('stsz', 0, 0, u32(0), u32(0)))
  return box('trak', header, box('mdia', media, handler, box('minf', kindHeader, where, table)))
}
