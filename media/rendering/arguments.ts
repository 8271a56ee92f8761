import type { Rendering } from '../types.ts'

const AUDIO_BITRATE = 160_000
const LEAST_VIDEO_BITRATE = 150_000
/** Where only the picture changes its form. */
const USUAL_BITRATE = 4_500_000

/** The largest picture of 9 by 16 in the middle, of even size. */
const VERTICAL = 'crop=min(iw\\,trunc(ih*9/32)*2):trunc(ih/2)*2,setsar=1'

/** ffmpeg from FLV on its input to FLV on its output: H.264 with a keyframe every 2 s, sound as it is. */
export function renderArguments({ crop, maxBitrate }: Rendering): string[] {
  const bitrate = String(Math.max(LEAST_VIDEO_BITRATE, (maxBitrate ?? USUAL_BITRATE) - AUDIO_BITRATE))
  return [
    ...words('-hide_banner -loglevel error -nostdin -nostats -fflags nobuffer -flags low_delay'),
    ...words('-probesize 500000 -analyzeduration 500000 -protocol_whitelist pipe -f flv -i pipe:0'),
    ...words('-map 0:v:0 -map 0:a:0?'),
    ...(crop === undefined ? [] : words(`-vf ${VERTICAL}`)),
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
