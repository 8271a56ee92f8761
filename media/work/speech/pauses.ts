/** A stretch of a file, in seconds from its beginning. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Pauses that are at least this long are left out of the pieces. A recognizer that gets only silence invents words. */
const LONG_PAUSE_SECONDS = 20
/** What the pieces keep of a pause that is left out, so that no sound is cut off. */
const KEPT_SECONDS = 0.5
/** A cut lies in the last part of a piece, so that pieces are not much shorter than allowed. */
const WINDOW_SHARE = 0.4

/**
 * Reads what ffmpeg's filters `silencedetect` and `ametadata` have written.
 * @param seconds the length of the sound. A pause without an end lasts until then
 */
export function pausesIn(text: string, seconds: number): Span[] {
  const pauses: Span[] = []
  let start: number | undefined
  for (const [, key, value] of text.matchAll(/^lavfi\.silence_(start|end)=(-?[\d.]+)/gm)) {
    if (key === 'start') start = Math.max(0, Number(value))
    else if (start !== undefined) {
      pauses.push({ start, end: Math.min(seconds, Number(value)) })
      start = undefined
    }
  }
  if (start !== undefined) pauses.push({ start, end: seconds })
  return pauses.filter((pause) => pause.end > pause.start)
}

/**
 * Divides a sound into pieces. A piece ends in the middle of the longest pause near its end, or at the quietest moment if
 * there is no pause. Long pauses are in no piece. The pieces neither overlap nor leave out anything else.
 * @param quietest finds the quietest moment between two times
 */
export async function piecesOf(
  sound: { readonly seconds: number; readonly pauses: readonly Span[] },
  maxSeconds: number,
  quietest: (window: Span) => Promise<number>,
): Promise<Span[]> {
  const pieces: Span[] = []
  for (const { end, start } of soundingSpans(sound)) {
    let at = start
    while (end - at > maxSeconds) {
      const window = { start: at + maxSeconds * (1 - WINDOW_SHARE), end: at + maxSeconds }
      const cut = middleOfLongest(sound.pauses, window) ?? (await quietest(window))
      pieces.push({ start: at, end: cut })
      at = cut
    }
    pieces.push({ start: at, end })
  }
  return pieces
}

function soundingSpans({ pauses, seconds }: { readonly seconds: number; readonly pauses: readonly Span[] }): Span[] {
  const spans: Span[] = []
  let start = 0
  for (const pause of pauses) {
    const isAll = pause.start <= 0 && pause.end >= seconds
    if (isAll) return []
    if (pause.end - pause.start < LONG_PAUSE_SECONDS) continue
    if (pause.start > start) spans.push({ start, end: pause.start + KEPT_SECONDS })
    start = pause.end >= seconds ? seconds : pause.end - KEPT_SECONDS
  }
  if (start < seconds) spans.push({ start, end: seconds })
  return spans
}

function middleOfLongest(pauses: readonly Span[], window: Span): number | undefined {
  const [longest] = pauses
    .map((pause) => ({ start: Math.max(pause.start, window.start), end: Math.min(pause.end, window.end) }))
    .filter(({ end, start }) => end > start)
    .toSorted((a, b) => b.end - b.start - (a.end - a.start))
  return longest === undefined ? undefined : (longest.start + longest.end) / 2
}
