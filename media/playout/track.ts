import { setImmediate } from 'node:timers/promises'
import { boxesOf, damaged, findBox, type Box } from './boxes.ts'
import { multiplyMatrix, readMatrix, type DisplayMatrix } from './display-matrix.ts'
import { readEdits, type Edits } from './edits.ts'
import { SampleTable } from './samples.ts'

/** A track of a movie: its format and its samples. */
export interface Track {
  readonly id: number
  readonly kind: 'video' | 'audio'
  /** Type of the first sample entry, such as `avc1`. */
  readonly format: string
  /** Number of sample entries. With more than one, the format changes within the track. */
  readonly entryCount: number
  /** `avcC` of H.264 or AudioSpecificConfig of AAC; empty for other codecs. */
  readonly config: Buffer
  readonly width: number
  readonly height: number
  /** Rotation and mirroring by the player. */
  readonly matrix: DisplayMatrix
  /** Sample aspect ratio in the container: width over height of a pixel. Null when not specified. */
  readonly pixelAspect: number | null
  /** `transfer_characteristics` (ITU-T H.273, table 3) in the container; null when not specified. */
  readonly transfer: number | null
  readonly timescale: number
  /** The part of the media that is presented. */
  readonly edits: Edits
  readonly samples: SampleTable
  /** Decoding time after the last sample. */
  end: number
}

/** Duration of a track by its samples. */
export function secondsOf({ end, samples, timescale }: Track): number {
  return (end - samples.decodeTime(0)) / timescale
}

/** Size of an audio sample entry by version. QuickTime has versions 1 and 2. */
const AUDIO_ENTRY_BYTES = [28, 44, 64]
/** After this many samples the event loop gets a chance to run, so that relayed streams do not wait for a long file. */
const SAMPLES_PER_BATCH = 8_192
const KINDS: Readonly<Record<string, Track['kind'] | undefined>> = { vide: 'video', soun: 'audio' }

/** Fields of the movie header (`mvhd`) that apply to all tracks. */
export interface MovieHeader {
  readonly timescale: number
  readonly matrix: DisplayMatrix
}

/** Reads a `trak`; undefined for one that is neither video nor audio. @throws PlayoutError when it is damaged */
export async function readTrack(moov: Buffer, trak: Box, movie: MovieHeader): Promise<Track | undefined> {
  const media = findBox(moov, trak, 'mdia')
  const handler = media && findBox(moov, media, 'hdlr')
  const kind = handler && KINDS[moov.toString('latin1', handler.start + 8, handler.start + 12)]
  if (media === undefined || kind === undefined) return undefined
  const header = need(findBox(moov, trak, 'tkhd'))
  const mediaHeader = need(findBox(moov, media, 'mdhd'))
  const table = need(findBox(moov, media, 'minf', 'stbl'))
  const timescale = moov.readUInt32BE(mediaHeader.start + (moov[mediaHeader.start] === 1 ? 20 : 12))
  if (timescale === 0) throw damaged()
  const descriptions = need(findBox(moov, table, 'stsd'))
  const samples = new SampleTable()
  const end = await readSamples(moov, table, samples, kind === 'video')
  return {
    id: moov.readUInt32BE(header.start + (moov[header.start] === 1 ? 20 : 12)),
    kind,
    entryCount: moov.readUInt32BE(descriptions.start + 4),
    ...readEntry(moov, descriptions, kind),
    matrix: multiplyMatrix(readMatrix(moov, header.start + (moov[header.start] === 1 ? 52 : 40)), movie.matrix),
    timescale,
    edits: readEdits(moov, findBox(moov, trak, 'edts', 'elst'), timescale, movie.timescale),
    samples,
    end,
  }
}

/** Reads the first sample entry (ISO/IEC 14496-12, 8.5.2). */
function readEntry(moov: Buffer, stsd: Box, kind: Track['kind']) {
  const entry = need(boxesOf(moov, stsd.start + 8, stsd.end)[0])
  const { start, end, type: format } = entry
  if (kind === 'video') {
    const children = { ...entry, start: start + 78 }
    return {
      format,
      config: content(moov, findBox(moov, children, 'avcC')),
      width: moov.readUInt16BE(start + 24),
      height: moov.readUInt16BE(start + 26),
      pixelAspect: readPixelAspect(moov, findBox(moov, children, 'pasp')),
      transfer: readTransfer(moov, findBox(moov, children, 'colr')),
    }
  }
  const children = start + (AUDIO_ENTRY_BYTES[moov.readUInt16BE(start + 8)] ?? 28)
  const within = { type: format, start: Math.min(children, end), end }
  const descriptor = findBox(moov, within, 'esds') ?? findBox(moov, within, 'wave', 'esds')
  const config = audioConfig(content(moov, descriptor))
  return { format, config, width: 0, height: 0, pixelAspect: null, transfer: null }
}

/** Reads a PixelAspectRatioBox (ISO/IEC 14496-12, 12.1.4). */
function readPixelAspect(moov: Buffer, pasp: Box | undefined): number | null {
  if (pasp === undefined) return null
  const [width, height] = [moov.readUInt32BE(pasp.start), moov.readUInt32BE(pasp.start + 4)]
  return width > 0 && height > 0 ? width / height : null
}

/** Reads a ColourInformationBox (ISO/IEC 14496-12, 12.1.5). QuickTime uses the type `nclc`. */
function readTransfer(moov: Buffer, colr: Box | undefined): number | null {
  if (colr === undefined) return null
  const kind = moov.toString('latin1', colr.start, colr.start + 4)
  return kind === 'nclx' || kind === 'nclc' ? moov.readUInt16BE(colr.start + 6) : null
}

/** Finds the AudioSpecificConfig in the nested descriptors of an `esds` (ISO/IEC 14496-1, 7.2.6.5). */
function audioConfig(esds: Buffer): Buffer {
  let at = 4
  while (at + 2 <= esds.length) {
    const tag = esds[at]
    let length = 0
    do {
      at += 1
      length = length * 128 + ((esds[at] ?? 0) & 0x7f)
    } while (at < esds.length && (esds[at] ?? 0) >= 0x80)
    at += 1
    if (tag === 5) return esds.subarray(at, at + length)
    // Fields before the nested descriptors: 3 bytes in ES_Descriptor, 13 in DecoderConfigDescriptor.
    if (tag === 3) at += 3
    else if (tag === 4) at += 13
    else at += length
  }
  return Buffer.alloc(0)
}

/** Reads the sample tables of an unfragmented track. @returns the decoding time after the last sample */
async function readSamples(moov: Buffer, stbl: Box, samples: SampleTable, isVideo: boolean): Promise<number> {
  const sizes = findBox(moov, stbl, 'stsz')
  const count = sizes === undefined ? 0 : moov.readUInt32BE(sizes.start + 8)
  if (sizes === undefined || count === 0) return 0
  const fixedSize = moov.readUInt32BE(sizes.start + 4)
  const nextDuration = runLengthValues(moov, need(findBox(moov, stbl, 'stts')))
  const nextComposition = runLengthValues(moov, findBox(moov, stbl, 'ctts'))
  const nextOffset = sampleOffsets(moov, stbl)
  const keyframes = findBox(moov, stbl, 'stss')
  let nextKeyframe = 0
  let decodeTime = 0
  for (let index = 0; index < count; index += 1) {
    const size = fixedSize === 0 ? moov.readUInt32BE(sizes.start + 12 + index * 4) : fixedSize
    const isKeyframe = keyframes === undefined || (isVideo && syncSample(moov, keyframes, nextKeyframe) === index + 1)
    if (isKeyframe) nextKeyframe += 1
    samples.add(decodeTime, nextOffset(size), size, nextComposition() | 0, isKeyframe)
    decodeTime += nextDuration()
    if (index % SAMPLES_PER_BATCH === SAMPLES_PER_BATCH - 1) await setImmediate()
  }
  return decodeTime
}

/** Returns the next value of a run-length table (`stts`, `ctts`) with each call; 0 after its end. */
function runLengthValues(moov: Buffer, box: Box | undefined): () => number {
  if (box === undefined) return () => 0
  const count = moov.readUInt32BE(box.start + 4)
  let entry = -1
  let left = 0
  return () => {
    while (left === 0) {
      if (++entry >= count) return 0
      left = moov.readUInt32BE(box.start + 8 + entry * 8)
    }
    left -= 1
    return moov.readUInt32BE(box.start + 12 + entry * 8)
  }
}

/** Returns the file offset of the next sample with each call. Samples follow each other within chunks. */
function sampleOffsets(moov: Buffer, stbl: Box): (size: number) => number {
  const toChunk = need(findBox(moov, stbl, 'stsc'))
  const offsets64 = findBox(moov, stbl, 'co64')
  const chunks = offsets64 ?? need(findBox(moov, stbl, 'stco'))
  const entries = moov.readUInt32BE(toChunk.start + 4)
  const chunkCount = moov.readUInt32BE(chunks.start + 4)
  let chunk = 0
  let entry = 0
  let left = 0
  let offset = 0
  return (size) => {
    if (left === 0) {
      chunk += 1
      if (chunk > chunkCount) throw damaged()
      while (entry + 1 < entries && moov.readUInt32BE(toChunk.start + 8 + (entry + 1) * 12) <= chunk) entry += 1
      left = moov.readUInt32BE(toChunk.start + 8 + entry * 12 + 4)
      if (left === 0) throw damaged()
      const at = chunks.start + 8 + (chunk - 1) * (offsets64 ? 8 : 4)
      offset = offsets64 ? Number(moov.readBigUInt64BE(at)) : moov.readUInt32BE(at)
    }
    left -= 1
    offset += size
    return offset - size
  }
}

/** Sample number of the keyframe at an index of `stss`; 0 after its end. */
function syncSample(moov: Buffer, stss: Box, index: number): number {
  return index < moov.readUInt32BE(stss.start + 4) ? moov.readUInt32BE(stss.start + 8 + index * 4) : 0
}

function content(moov: Buffer, box: Box | undefined): Buffer {
  return box === undefined ? Buffer.alloc(0) : Buffer.from(moov.subarray(box.start, box.end))
}

function need(box: Box | undefined): Box {
  if (box === undefined) throw damaged()
  return box
}
