import { damaged, type Box } from './boxes.ts'

/** The part of a track that an edit list presents, in units of its timescale (ISO/IEC 14496-12, 8.6.6). */
export interface Edits {
  /** Media time at presentation time 0. Negative for a track that starts later. */
  readonly origin: number
  /** Media before this time is decoded, but not presented. */
  readonly from: number
  /** Media from this time on is not presented; null if all is. */
  readonly to: number | null
  /** The media is presented in several parts, or at another speed. */
  readonly isCut: boolean
}

const WHOLE: Edits = { origin: 0, from: 0, to: null, isCut: false }
const NORMAL_RATE = 0x1_0000
/** Entries that are read. A list with more has cuts in any case. */
const MAX_ENTRIES = 8

/**
 * Reads an edit list. Empty entries at its start delay the track.
 *
 * @throws PlayoutError when it is damaged
 */
export function readEdits(moov: Buffer, elst: Box | undefined, timescale: number, movieTimescale: number): Edits {
  if (elst === undefined) return WHOLE
  const isLong = moov[elst.start] === 1
  const entryBytes = isLong ? 20 : 12
  const count = Math.min(moov.readUInt32BE(elst.start + 4), MAX_ENTRIES)
  let delay = 0
  let edits: Edits | undefined
  for (let index = 0, at = elst.start + 8; index < count; index += 1, at += entryBytes) {
    if (at + entryBytes > elst.end) throw damaged()
    const seconds = (isLong ? Number(moov.readBigUInt64BE(at)) : moov.readUInt32BE(at)) / movieTimescale
    const duration = Math.round(seconds * timescale)
    const from = isLong ? Number(moov.readBigInt64BE(at + 8)) : moov.readInt32BE(at + 4)
    if (edits !== undefined) {
      // An empty entry after the media is only a pause at the end.
      if (from >= 0) return { ...edits, isCut: true }
    } else if (from < 0) delay += duration
    else {
      const isCut = moov.readInt32BE(at + entryBytes - 4) !== NORMAL_RATE
      // Fragmented files have duration 0, because it is unknown when the list is written.
      edits = { origin: from - delay, from, to: duration === 0 ? null : from + duration, isCut }
    }
  }
  return edits ?? WHOLE
}
