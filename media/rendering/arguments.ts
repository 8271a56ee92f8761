import type { Rendering } from '../types.ts'

const AUDIO_BITRATE = 160_000
const MIN_VIDEO_BITRATE = 150_000
/** Video and audio together, for a rendering without `maxBitrate`. */
const DEFAULT_BITRATE = 4_500_000

/** Crops to the largest centered 9:16 area with even width and height. */
const CROP_PORTRAIT = 'crop=min(iw\\,trunc(ih*9/32)*2):trunc(ih/2)*2,setsar=1'

/** Arguments of ffmpeg: FLV from stdin to FLV on stdout, H.264 with a keyframe every 2 s, audio copied. */
export function renderArguments({ crop, maxBitrate }: Rendering): string[] {
  const bitrate = String(Math.max(MIN_VIDEO_BITRATE, (maxBitrate ?? DEFAULT_BITRATE) - AUDIO_BITRATE))
  return [
    ...words('-hide_banner -loglevel error -nostdin -nostats -fflags nobuffer -flags low_delay'),
    ...words('-probesize 500000 -analyzeduration 500000 -protocol_whitelist pipe -f flv -i pipe:0'),
    ...words('-map 0:v:0 -map 0:a:0?'),
    ...(crop === undefined ? [] : words(`-vf ${CROP_PORTRAIT}`)),
    ...words('-c:v libx264 -preset veryfast -tune zerolatency -pix_fmt yuv420p -threads 2'),
    ...words(`-b:v ${bitrate} -maxrate ${bitrate} -bufsize ${bitrate}`),
    ...words('-force_key_frames expr:gte(t,n_forced*2)'),
    ...words('-g 600 -sc_threshold 0 -c:a copy -flush_packets 1 -max_interleave_delta 0'),
    ...words('-flvflags no_duration_filesize -f flv pipe:1'),
  ]
}

function words(text: string): string[] {
  return text.split(' ')
}
