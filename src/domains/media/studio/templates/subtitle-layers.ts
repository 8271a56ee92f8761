import type { Segment } from '../../ai/index.ts'
import type { StudioLayerData } from '../schemas.ts'

/** Subtitles of a page. It has at most 100 layers, and a few of them are not subtitles. */
export const MAX_SUBTITLES = 90
const FRAMES_PER_SECOND = 30

/** A part of a video with its subtitles. Times of segments are from its beginning. */
export interface SubtitledPart {
  readonly from: number
  readonly seconds: number
  readonly segments: readonly Segment[]
}

/** Divides a video into parts, because a page has a limited number of layers. Parts begin with a frame. */
export function partsOf(segments: readonly Segment[], total: number): SubtitledPart[] {
  const shown = segments.filter(({ endSeconds, startSeconds }) => startSeconds < total && endSeconds > startSeconds)
  const parts: SubtitledPart[] = []
  let from = 0
  for (let index = 0; index === 0 || index < shown.length; index += MAX_SUBTITLES) {
    const next = shown[index + MAX_SUBTITLES]
    const to = next === undefined ? total : Math.floor(next.startSeconds * FRAMES_PER_SECOND) / FRAMES_PER_SECOND
    const seconds = to - from
    const own = shown.slice(index, index + MAX_SUBTITLES).flatMap((segment): Segment[] => {
      const startSeconds = Math.max(0, segment.startSeconds - from)
      const endSeconds = Math.min(seconds, segment.endSeconds - from)
      return endSeconds > startSeconds ? [{ ...segment, startSeconds, endSeconds }] : []
    })
    parts.push({ from, seconds, segments: own })
    from = to
  }
  return parts
}

/** A text layer for each segment, while it is spoken. */
export function subtitles(segments: readonly Segment[], layer: (text: string) => StudioLayerData): StudioLayerData[] {
  return segments.map(({ endSeconds, startSeconds, text }) => ({ ...layer(text), startSeconds, endSeconds }))
}
