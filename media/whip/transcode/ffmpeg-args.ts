import type { VideoSize } from '../../rtmp/sps.ts'

/** Size of video that is transcoded from the start. Every platform accepts it. */
export const DEFAULT_SIZE: VideoSize = { width: 1_280, height: 720 }
/** Larger video is not encoded: it would need more than one core. */
const MAX_PIXELS = 1_920 * 1_088
/** Larger video is not decoded. */
const MAX_DECODED_PIXELS = 4_096 * 2_304
const FRAMES_PER_SECOND = 30
/** 2.5 Mbit/s for 720p. */
const BITS_PER_PIXEL = 0.09
const MIN_BITRATE = 800_000

export interface FfmpegProgram {
  readonly path: string
  /** The version that it prints. */
  readonly version: string
}

/** Whether video of this size can be encoded in real time and by the encoder, which needs even dimensions. */
export function isEncodable({ height, width }: VideoSize): boolean {
  return width * height <= MAX_PIXELS && width % 2 === 0 && height % 2 === 0
}

/** Transcodes Opus in Matroska to AAC in FLV. Fills gaps with silence and follows a drifting clock. */
export function audioArguments(): string[] {
  return transcodeArguments('-c:a aac -b:a 128k -ar 48000 -ac 2 -af aresample=async=1000')
}

/** Transcodes video of any size in Matroska to H.264 of the given size in FLV, with black bars if the aspect ratio differs. */
export function videoArguments({ height, width }: VideoSize, version: string): string[] {
  const fit = `scale=${width}:${height}:force_original_aspect_ratio=decrease,pad=${width}:${height}:-1:-1,setsar=1`
  const group = FRAMES_PER_SECOND * 2
  const target = Math.round((width * height * FRAMES_PER_SECOND * BITS_PER_PIXEL) / 100_000) * 100_000
  const bitrate = Math.max(MIN_BITRATE, target)
  // Without `-r`, ffmpeg assumes 1000 frames per second, and the encoder gives each frame far too few bits.
  const rate = `${knowsFrameRateMode(version) ? '-fps_mode' : '-vsync'} cfr -r ${FRAMES_PER_SECOND}`
  return transcodeArguments(
    `-vf ${fit} -c:v libx264 -preset veryfast -tune zerolatency -pix_fmt yuv420p`,
    `-b:v ${bitrate} -maxrate ${bitrate} -bufsize ${bitrate}`,
    `-g ${group} -keyint_min ${group} -sc_threshold 0 -threads 2 ${rate}`,
  )
}

/** Arguments for low delay around those of the encoder. */
function transcodeArguments(...encode: readonly string[]): string[] {
  const parts = [
    '-hide_banner -loglevel warning -nostdin -nostats',
    `-fflags nobuffer -flags low_delay -probesize 32 -analyzeduration 0 -max_pixels ${MAX_DECODED_PIXELS}`,
    '-protocol_whitelist pipe -f matroska -i pipe:0',
    ...encode,
    '-flush_packets 1 -avoid_negative_ts disabled',
    '-flvflags no_duration_filesize -f flv pipe:1',
  ]
  return parts.join(' ').split(' ')
}

/** ffmpeg 5.1 replaced `-vsync` by `-fps_mode`. Builds between releases (`N-…`) do not parse and get `-vsync`. */
function knowsFrameRateMode(version: string): boolean {
  const [, major = '0', minor = '0'] = /^n?(\d+)\.(\d+)/.exec(version) ?? []
  return Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 1)
}
