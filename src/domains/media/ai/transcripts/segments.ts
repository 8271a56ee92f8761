/** A part of a transcript. Times are in seconds from the beginning of the file. */
export interface Segment {
  readonly startSeconds: number
  readonly endSeconds: number
  readonly text: string
  /** Who speaks, as the provider labels them. Null if it does not tell speakers apart. */
  readonly speaker: string | null
}

/** What was recognized in one piece of the sound. The times of its segments are from the beginning of the piece. */
export interface RecognizedPiece {
  /** Where the piece begins in the file, and its length, in seconds. */
  readonly start: number
  readonly seconds: number
  readonly segments: readonly Segment[]
}

/** The shortest segment, which also players of subtitles can show. */
const SHORTEST = 0.01

/**
 * Puts the segments of pieces together. A segment never leaves its piece, so the times stay right at the cuts also when
 * a recognizer reports times beyond the end of its sound, or in the wrong order.
 */
export function joinPieces(pieces: readonly RecognizedPiece[]): Segment[] {
  return pieces.flatMap(({ seconds, segments, start }, index) =>
    segments
      .flatMap((segment): Segment[] => {
        const text = plain(segment.text)
        if (text === '') return []
        const from = Math.min(Math.max(0, segment.startSeconds), Math.max(0, seconds - SHORTEST))
        const to = Math.min(Math.max(segment.endSeconds, from + SHORTEST), Math.max(seconds, from + SHORTEST))
        const speaker = segment.speaker === null ? null : speakerOf(segment.speaker, index, pieces.length)
        return [{ startSeconds: rounded(start + from), endSeconds: rounded(start + to), text, speaker }]
      })
      .toSorted((a, b) => a.startSeconds - b.startSeconds),
  )
}

/** The model labels speakers within each piece, so the same label in two pieces can mean two people. */
function speakerOf(label: string, index: number, count: number): string {
  const text = plain(label)
  return count > 1 ? `${index + 1}-${text}` : text
}

/** Characters that are not visible or change the direction of other text. Direction marks (LRM, RLM) stay. */
const HIDDEN = /[\u00AD\u200B\u202A-\u202E\u2060-\u2069\uFEFF\uFFFE\uFFFF]|[\u{E0000}-\u{E007F}]/gu

/** Text on one line, without control and hidden characters. */
export function plain(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(HIDDEN, '')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function rounded(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000
}
