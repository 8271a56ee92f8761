import type { PictureSize } from '../../rtmp/sps.ts'

/** Size of video that is encoded anew from the start: what every platform takes. */
export const USUAL_SIZE: PictureSize = { width: 1_280, height: 720 }
/** Larger pictures are not encoded here: it would take more than a core. */
const MOST_PIXELS = 1_920 * 1_088
/** And larger ones not even decoded. */
const MOST_PIXELS_READ = 4_096 * 2_304
const FRAMES_PER_SECOND = 30
/** 2.5 Mbit/s for 720 lines. */
const BITS_PER_PIXEL = 0.09
const LEAST_BITRATE = 800_000

export interface FfmpegProgram {
  readonly path: string
  /** As it calls itself. */
  readonly version: string
}

/** Whether pictures of this size can be made, in time and by the encoder. */
export function isEncodable({ height, width }: PictureSize): boolean {
  return width * height <= MOST_PIXELS && width % 2 === 0 && height % 2 === 0
}

/** ffmpeg from Opus in Matroska to AAC in FLV. Gaps become silence, and a clock that drifts is followed. */
export function soundArguments(): string[] {
  return transcodeArguments('-c:a aac -b:a 128k -ar 48000 -ac 2 -af aresample=async=1000')
}

/** ffmpeg from pictures of any size in Matroska to H.264 of this one in FLV, what does not fit between bars. */
export function pictureArguments({ height, width }: PictureSize, version: string): string[] {
  const fit = `scale=${width}:${height}:force_original_aspect_ratio=decrease,pad=${width}:${height}:-1:-1,setsar=1`
  const group = FRAMES_PER_SECOND * 2
  const wanted = Math.round((width * height * FRAMES_PER_SECOND * BITS_PER_PIXEL) / 100_000) * 100_000
  const bitrate = Math.max(LEAST_BITRATE, wanted)
  // Left to itself ffmpeg takes a stream of single frames for one of 1000 a second, and starves it.
  const rate = `${knowsFrameRateMode(version) ? '-fps_mode' : '-vsync'} cfr -r ${FRAMES_PER_SECOND}`
  return transcodeArguments(
    `-vf ${fit} -c:v libx264 -preset veryfast -tune zerolatency -pix_fmt yuv420p`,
    `-b:v ${bitrate} -maxrate ${bitrate} -bufsize ${bitrate}`,
    `-g ${group} -keyint_min ${group} -sc_threshold 0 -threads 2 ${rate}`,
  )
}

/** With as little delay as it can do. */
function transcodeArguments(...encode: readonly string[]): string[] {
  const parts = [
    '-hide_banner -loglevel warning -nostdin -nostats',
    `-fflags nobuffer -flags low_delay -probesize 32 -analyzeduration 0 -max_pixels ${MOST_PIXELS_READ}`,
    '-protocol_whitelist pipe -f matroska -i pipe:0',
    ...encode,
    '-flush_packets 1 -avoid_negative_ts disabled',
    '-flvflags no_duration_filesize -f flv pipe:1',
  ]
  return parts.join(' ').split(' ')
}

/** `-fps_mode` came with 5.1 and took the place of `-vsync`. Builds between releases (`N-…`) go by the old one up to 2021. */
function knowsFrameRateMode(version: string): boolean {
  const [, major = '0', minor = '0'] = /^n?(\d+)\.(\d+)/.exec(version) ?? []
  return Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 1)
}
