import type { AudioTrack, HdrTransfer, VideoTrack } from '../types.ts'

/** What ffprobe or `ffmpeg -i` reports about a file. */
export interface Streams {
  readonly format: string
  readonly seconds: number | null
  readonly bitrate: number | null
  /** The first video track that is not cover art. */
  readonly video: VideoTrack | null
  readonly audio: AudioTrack | null
  readonly rotation: 0 | 90 | 180 | 270
  /** Whether its frames can have transparent pixels. */
  readonly hasAlpha: boolean
}

/** Rounds an angle to clockwise quarter turns. */
export function quarterTurns(degrees: number): 0 | 90 | 180 | 270 {
  const rotation = (((Math.round(degrees / 90) * 90) % 360) + 360) % 360
  return rotation as 0 | 90 | 180 | 270
}

/** Width and height as shown: with square pixels, after rotation. */
export function shownSize(
  size: { width: number; height: number },
  pixelAspect: number,
  rotation: number,
): { width: number; height: number } {
  const width = pixelAspect > 0 && Number.isFinite(pixelAspect) ? Math.round(size.width * pixelAspect) : size.width
  return rotation % 180 === 0 ? { width, height: size.height } : { width: size.height, height: width }
}

/** The HDR transfer function in the output of ffmpeg or ffprobe. Null if there is none. */
export function hdrTransfer(text: string | undefined): HdrTransfer | null {
  const [found = null] = /\b(?:smpte2084|arib-std-b67)\b/.exec(text ?? '') ?? []
  return found as HdrTransfer | null
}

export function hasAlphaFormat(pixelFormat: string | null): boolean {
  return pixelFormat !== null && /^(?:yuva|rgba|bgra|argb|abgr|gbrap|ya\d|pal8)/.test(pixelFormat)
}
