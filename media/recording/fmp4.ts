import { box, full, text, u16, u32, zeros } from './box-writer.ts'

/** A track of a fragmented MP4 file (ISO/IEC 14496-12, 8.8). */
export interface RecordedTrack {
  readonly id: number
  readonly kind: 'video' | 'audio'
  /** Sample entry: codec and decoder configuration. */
  readonly entry: Buffer
  /** Additional brand of the file (ISO/IEC 14496-12, annex E). */
  readonly brand?: string
  /** Parameter sets to put in front of each keyframe, if the configuration may change within the track. */
  readonly parameterSets?: Buffer
  /** Pixels; 0 for audio. */
  readonly width: number
  readonly height: number
}

/** A sample. Times are milliseconds. */
export interface RecordedSample {
  readonly decodeTime: number
  readonly duration: number
  /** Composition time offset. */
  readonly composition: number
  readonly isKeyframe: boolean
  readonly data: Buffer
}

const TIMESCALE = 1_000
const SYNC_SAMPLE = 0x0200_0000
const OTHER_SAMPLE = 0x0101_0000
/** Language `und` (ISO 639-2) packed into 15 bits. */
const UNDETERMINED = 0x55c4
const IDENTITY_MATRIX = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000]

/** The initialization segment: `ftyp` and `moov`. The duration is written later: see {@link durationPatches}. */
export function initSegment(tracks: readonly RecordedTrack[]): Buffer {
  const brands = tracks.flatMap(({ brand }) => brand ?? [])
  // Programs recognize an audio file by its major brand.
  const major = tracks.some(({ kind }) => kind === 'video') ? 'isom' : 'M4A '
  if (major !== 'isom') brands.unshift(major)
  return Buffer.concat([
    box('ftyp', text(major), u32(0x200), ...['isom', 'iso6', 'mp41', ...brands].map(text)),
    box('moov', movieHeader(tracks), ...tracks.map(trackBox), movieExtends(tracks)),
  ])
}

/**
 * The headers of a fragment: `moof` and the header of `mdat`. The data of the samples must follow in the same order.
 *
 * @param runs samples by track, none of them empty
 */
export function fragmentHeader(
  sequence: number,
  runs: readonly { readonly track: RecordedTrack; readonly samples: readonly RecordedSample[] }[],
): Buffer {
  const lengths = runs.map(({ samples }) => samples.reduce((sum, { data }) => sum + data.length, 0))
  // Data offsets are relative to the start of the `moof`, whose size does not depend on them.
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

/** The bytes to overwrite in the initialization segment when the duration is known. */
export function durationPatches(init: Buffer, duration: number): { position: number; bytes: Buffer }[] {
  const header = init.indexOf('mvhd', 0, 'latin1')
  const free = init.indexOf('free', 0, 'latin1')
  if (header < 0 || free < 0) return []
  const value = u32(Math.min(duration, 0xffff_ffff))
  return [
    { position: header + 4 + 16, bytes: value },
    { position: free, bytes: Buffer.concat([text('mehd'), u32(0), value]) },
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
    // default-base-is-moof.
    full('tfhd', 0, 0x2_0000, u32(id)),
    full('tfdt', 1, 0, time),
    // Version 1 has signed composition time offsets. The flags: data offset; duration, size, flags and offset per sample.
    full('trun', 1, 0xf01, u32(samples.length), u32(dataOffset), entries),
  )
}

function movieHeader(tracks: readonly RecordedTrack[]): Buffer {
  const rest = [u32(0x1_0000), u16(0x100), zeros(10), ...IDENTITY_MATRIX.map(u32), zeros(24), u32(tracks.length + 1)]
  return full('mvhd', 0, 0, u32(0), u32(0), u32(TIMESCALE), u32(0), ...rest)
}

/** `mvex`. The `free` box reserves space for the duration (`mehd`). */
function movieExtends(tracks: readonly RecordedTrack[]): Buffer {
  const defaults = tracks.map(({ id }) => full('trex', 0, 0, u32(id), u32(1), u32(0), u32(0), u32(0)))
  return box('mvex', box('free', zeros(8)), ...defaults)
}

function trackBox(track: RecordedTrack): Buffer {
  const { entry, height, id, kind, width } = track
  const isVideo = kind === 'video'
  const layout = [zeros(8), u16(0), u16(isVideo ? 0 : 1), u16(isVideo ? 0 : 0x100), u16(0)]
  const size = [...IDENTITY_MATRIX.map(u32), u32(width * 0x1_0000), u32(height * 0x1_0000)]
  const header = full('tkhd', 0, 3, u32(0), u32(0), u32(id), u32(0), u32(0), ...layout, ...size)
  const media = full('mdhd', 0, 0, u32(0), u32(0), u32(TIMESCALE), u32(0), u16(UNDETERMINED), u16(0))
  const handler = full('hdlr', 0, 0, u32(0), text(isVideo ? 'vide' : 'soun'), zeros(12), zeros(1))
  const kindHeader = isVideo ? full('vmhd', 0, 1, zeros(8)) : full('smhd', 0, 0, zeros(4))
  const dataInformation = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)))
  const empty = ['stts', 'stsc', 'stco'].map((name) => full(name, 0, 0, u32(0)))
  const table = box('stbl', full('stsd', 0, 0, u32(1), entry), ...empty, full('stsz', 0, 0, u32(0), u32(0)))
  return box('trak', header, box('mdia', media, handler, box('minf', kindHeader, dataInformation, table)))
}
