import { damaged, type Box } from './boxes.ts'

/** Which part of a track's media is presented, in units of its timescale (ISO/IEC 14496-12, 8.6.6). */
export interface Edits {
  /** Where time 0 of the presentation lies on the track's own line; negative for a track that begins later. */
  readonly origin: number
  /** Media before this is decoded but not shown. */
  readonly from: number
  /** Media from here on is not shown; null when it is shown to its end. */
  readonly to: number | null
  /** The media is presented in several pieces, or not at its own speed. */
  readonly isCut: boolean
}

const WHOLE: Edits = { origin: 0, from: 0, to: null, isCut: false }
const NORMAL_RATE = 0x1_0000
/** More entries than this are cuts in any case. */
const MOST_ENTRIES = 8

/**
 * Reads an edit list. Empty entries at its beginning delay the track.
 * @throws PlayoutError when it is damaged
 */
export function readEdits(moov: Buffer, elst: Box | undefined, timescale: number, movieTimescale: number): Edits {
  if (elst === undefined) return WHOLE
  const isLong = moov[elst.start] === 1
  const entryBytes = isLong ? 20 : 12
  const count = Math.min(moov.readUInt32BE(elst.start + 4), MOST_ENTRIES)
  let delay = 0
  let edits: Edits | undefined
  for (let index = 0, at = elst.start + 8; index < count; index += 1, at += entryBytes) {
    if (at + entryBytes > elst.end) throw damaged()
    const seconds = (isLong ? Number(moov.readBigUInt64BE(at)) : moov.readUInt32BE(at)) / movieTimescale
    const duration = Math.round(seconds * timescale)
    const from = isLong ? Number(moov.readBigInt64BE(at + 8)) : moov.readInt32BE(at + 4)
    if (edits !== undefined) {
      // An empty entry after the media is a pause at the end.
      if (from >= 0) return { ...edits, isCut: true }
    } else if (from < 0) delay += duration
    else {
      const isCut = moov.readInt32BE(at + entryBytes - 4) !== NORMAL_RATE
      // Fragmented files say 0: their length is not known when the list is written.
      edits = { origin: from - delay, from, to: duration === 0 ? null : from + duration, isCut }
    }
  }
  return edits ?? WHOLE
}
