import { setImmediate as nextTurn } from 'node:timers/promises'
import { boxesOf, damaged, findBox, type Box } from './boxes.ts'
import { multiplyMatrix, readMatrix, type DisplayMatrix } from './display-matrix.ts'
import { readEdits, type Edits } from './edits.ts'
import { SampleTable } from './samples.ts'

/** A track of a movie: what it is coded with, and its samples. */
export interface Track {
  readonly id: number
  readonly kind: 'video' | 'audio'
  /** Name of the first sample entry, such as `avc1`. */
  readonly format: string
  /** How many sample entries there are: with more than one, the coding changes on the way. */
  readonly entryCount: number
  /** `avcC` of H.264, AudioSpecificConfig of AAC; empty for what is neither. */
  readonly config: Buffer
  readonly width: number
  readonly height: number
  /** How a player turns the picture before it shows it. */
  readonly matrix: DisplayMatrix
  /** Width of a pixel over its height, as the container says it; null when it does not. */
  readonly pixelAspect: number | null
  /** `transfer_characteristics` (ITU-T H.273, table 3), as the container says it; null when it does not. */
  readonly transfer: number | null
  readonly timescale: number
  /** Which part of the media is presented. */
  readonly edits: Edits
  readonly samples: SampleTable
  /** Where the next sample would be decoded. */
  end: number
}

/** How long a track is by its samples. */
export function secondsOf({ end, samples, timescale }: Track): number {
  return (end - samples.decodeTime(0)) / timescale
}

/** By version: QuickTime's second and third are longer. */
const AUDIO_ENTRY_BYTES = [28, 44, 64]
/** Streams that are relayed meanwhile must not wait for the tables of a long film. */
const SAMPLES_A_TURN = 8_192
const KINDS: Readonly<Record<string, Track['kind'] | undefined>> = { vide: 'video', soun: 'audio' }

/** What the head of the movie (`mvhd`) says for all tracks. */
export interface MovieFacts {
  readonly timescale: number
  readonly matrix: DisplayMatrix
}

/** Reads a `trak`; undefined for one that is neither picture nor sound. @throws PlayoutError when it is damaged */
export async function readTrack(moov: Buffer, trak: Box, movie: MovieFacts): Promise<Track | undefined> {
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

/** The first sample entry (ISO/IEC 14496-12, 8.5.2). */
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

/** PixelAspectRatioBox (ISO/IEC 14496-12, 12.1.4). */
function readPixelAspect(moov: Buffer, pasp: Box | undefined): number | null {
  if (pasp === undefined) return null
  const [width, height] = [moov.readUInt32BE(pasp.start), moov.readUInt32BE(pasp.start + 4)]
  return width > 0 && height > 0 ? width / height : null
}

/** ColourInformationBox (ISO/IEC 14496-12, 12.1.5); QuickTime calls its kind `nclc`. */
function readTransfer(moov: Buffer, colr: Box | undefined): number | null {
  if (colr === undefined) return null
  const kind = moov.toString('latin1', colr.start, colr.start + 4)
  return kind === 'nclx' || kind === 'nclc' ? moov.readUInt16BE(colr.start + 6) : null
}

/** The AudioSpecificConfig within an `esds` (ISO/IEC 14496-1, 7.2.6.5): descriptors within descriptors. */
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
    // The stream's descriptor has an id and flags before what is within it, the decoder's thirteen bytes.
    if (tag === 3) at += 3
    else if (tag === 4) at += 13
    else at += length
  }
  return Buffer.alloc(0)
}

/** Reads the tables of an unfragmented track. @returns where the next sample would be decoded */
async function readSamples(moov: Buffer, stbl: Box, samples: SampleTable, isVideo: boolean): Promise<number> {
  const sizes = findBox(moov, stbl, 'stsz')
  const count = sizes === undefined ? 0 : moov.readUInt32BE(sizes.start + 8)
  if (sizes === undefined || count === 0) return 0
  const fixed = moov.readUInt32BE(sizes.start + 4)
  const durations = runs(moov, need(findBox(moov, stbl, 'stts')))
  const compositions = runs(moov, findBox(moov, stbl, 'ctts'))
  const place = places(moov, stbl)
  const keyframes = findBox(moov, stbl, 'stss')
  let nextKeyframe = 0
  let decodeTime = 0
  for (let index = 0; index < count; index += 1) {
    const size = fixed === 0 ? moov.readUInt32BE(sizes.start + 12 + index * 4) : fixed
    const isKeyframe = keyframes === undefined || (isVideo && listed(moov, keyframes, nextKeyframe) === index + 1)
    if (isKeyframe) nextKeyframe += 1
    samples.add(decodeTime, place(size), size, compositions() | 0, isKeyframe)
    decodeTime += durations()
    if (index % SAMPLES_A_TURN === SAMPLES_A_TURN - 1) await nextTurn()
  }
  return decodeTime
}

/** Values of a table of runs (`stts`, `ctts`), one a call; 0 when it has ended. */
function runs(moov: Buffer, box: Box | undefined): () => number {
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

/** Offsets of samples, one a call, by their sizes: samples lie in chunks one after another. */
function places(moov: Buffer, stbl: Box): (size: number) => number {
  const toChunk = need(findBox(moov, stbl, 'stsc'))
  const long = findBox(moov, stbl, 'co64')
  const chunks = long ?? need(findBox(moov, stbl, 'stco'))
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
      const at = chunks.start + 8 + (chunk - 1) * (long ? 8 : 4)
      offset = long ? Number(moov.readBigUInt64BE(at)) : moov.readUInt32BE(at)
    }
    left -= 1
    offset += size
    return offset - size
  }
}

function listed(moov: Buffer, stss: Box, index: number): number {
  return index < moov.readUInt32BE(stss.start + 4) ? moov.readUInt32BE(stss.start + 8 + index * 4) : 0
}

function content(moov: Buffer, box: Box | undefined): Buffer {
  return box === undefined ? Buffer.alloc(0) : Buffer.from(moov.subarray(box.start, box.end))
}

function need(box: Box | undefined): Box {
  if (box === undefined) throw damaged()
  return box
}
