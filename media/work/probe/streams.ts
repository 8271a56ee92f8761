import type { AudioTrack, HdrTransfer, VideoTrack } from '../types.ts'

/** What ffprobe, or else `ffmpeg -i`, tells of a file. */
export interface Streams {
  readonly format: string
  readonly seconds: number | null
  readonly bitrate: number | null
  /** The first that is no cover picture. */
  readonly video: VideoTrack | null
  readonly audio: AudioTrack | null
  readonly rotation: 0 | 90 | 180 | 270
  /** Which frames of it have pixels that let through. */
  readonly hasAlpha: boolean
}

/** Clockwise quarter turns out of any angle. */
export function quarterTurns(degrees: number): 0 | 90 | 180 | 270 {
  const turned = (((Math.round(degrees / 90) * 90) % 360) + 360) % 360
  return turned as 0 | 90 | 180 | 270
}

/** Width and height as shown: square pixels first, then turned. */
export function shownSize(
  size: { width: number; height: number },
  pixelAspect: number,
  rotation: number,
): { width: number; height: number } {
  const width = pixelAspect > 0 && Number.isFinite(pixelAspect) ? Math.round(size.width * pixelAspect) : size.width
  return rotation % 180 === 0 ? { width, height: size.height } : { width: size.height, height: width }
}

/** The transfer of high dynamic range that ffmpeg or ffprobe names in a text. */
export function hdrTransfer(text: string | undefined): HdrTransfer | null {
  const [found = null] = /\b(?:smpte2084|arib-std-b67)\b/.exec(text ?? '') ?? []
  return found as HdrTransfer | null
}

export function hasAlphaFormat(pixelFormat: string | null): boolean {
  return pixelFormat !== null && /^(?:yuva|rgba|bgra|argb|abgr|gbrap|ya\d|pal8)/.test(pixelFormat)
}
