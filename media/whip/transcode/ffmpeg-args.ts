import type { MatroskaTracks } from './matroska.ts'

/** Size and rate of video that is encoded anew: what every platform takes. */
const WIDTH = 1_280
const HEIGHT = 720
const FRAMES_PER_SECOND = 30
const VIDEO_BITRATE = '2500k'

export interface FfmpegProgram {
  readonly path: string
  /** As it calls itself. */
  readonly version: string
}

/** ffmpeg from Matroska on its input to FLV on its output, with as little delay as it can do. */
export function transcodeArguments({ audio, video }: MatroskaTracks, version: string): string[] {
  const parts = [
    '-hide_banner -loglevel warning -nostdin -nostats',
    '-fflags nobuffer -flags low_delay -probesize 32 -analyzeduration 0',
    '-protocol_whitelist pipe -f matroska -i pipe:0',
    ...(video === null ? [] : ['-map 0:v:0', encodeVideo(version)]),
    ...(audio ? ['-map 0:a:0', ENCODE_AUDIO] : []),
    '-flush_packets 1 -max_interleave_delta 0 -avoid_negative_ts disabled',
    '-flvflags no_duration_filesize -f flv pipe:1',
  ]
  return parts.join(' ').split(' ')
}

/** Gaps become silence, and a clock that drifts is followed. */
const ENCODE_AUDIO = '-c:a aac -b:a 128k -ar 48000 -ac 2 -af aresample=async=1000'

function encodeVideo(version: string): string {
  const fit = `scale=${WIDTH}:${HEIGHT}:force_original_aspect_ratio=decrease,pad=${WIDTH}:${HEIGHT}:-1:-1,setsar=1`
  const group = FRAMES_PER_SECOND * 2
  // Left to itself ffmpeg takes a stream of single frames for one of 1000 a second, and starves it.
  const rate = `${knowsFrameRateMode(version) ? '-fps_mode' : '-vsync'} cfr -r ${FRAMES_PER_SECOND}`
  return [
    `-vf ${fit} -c:v libx264 -preset veryfast -tune zerolatency -pix_fmt yuv420p`,
    `-b:v ${VIDEO_BITRATE} -maxrate ${VIDEO_BITRATE} -bufsize ${VIDEO_BITRATE}`,
    `-g ${group} -keyint_min ${group} -sc_threshold 0 -threads 2 ${rate}`,
  ].join(' ')
}

/** `-fps_mode` came with 5.1 and took the place of `-vsync`. Builds between releases (`N-…`) go by the old one up to 2021. */
function knowsFrameRateMode(version: string): boolean {
  const [, major = '0', minor = '0'] = /^n?(\d+)\.(\d+)/.exec(version) ?? []
  return Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 1)
}
