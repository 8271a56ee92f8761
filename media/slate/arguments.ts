import { fileURLToPath } from 'node:url'

/** Length of a clip. It starts with its only keyframe, so the loop has the keyframe interval that platforms ask for. */
const CLIP_SECONDS = 2

/** The video format of a slate. It matches the publisher's. */
export interface SlateFormat {
  readonly width: number
  readonly height: number
  /** A whole number of frames per second. */
  readonly fps: number
  /** H.264 profile. */
  readonly profile: 'baseline' | 'main' | 'high'
}

/** The picture for streams without their own picture, and the color of the area around it. */
const CARD = { path: fileURLToPath(new URL('card.png', import.meta.url)), padding: '0x14181f' }

/**
 * Arguments of ffmpeg to render a picture as H.264 in FLV that can be sent in a loop. The picture is scaled to fit, centered
 * and decoded once. The bitrate is at most 2 Mbit/s.
 * @param picture path of the picture; undefined for the card
 */
export function slateArguments({ fps, height, profile, width }: SlateFormat, picture: string | undefined): string[] {
  const { path, padding } = picture === undefined ? CARD : { path: picture, padding: 'black' }
  const size = `${width}:${height}`
  const fit = `scale=${size}:force_original_aspect_ratio=decrease,pad=${size}:(ow-iw)/2:(oh-ih)/2:color=${padding}`
  const still = `loop=loop=-1:size=1,setpts=N/(${fps}*TB)`
  return [
    ...words('-hide_banner -loglevel error -nostdin -nostats -protocol_whitelist file,pipe'),
    ...words(`-f image2 -pattern_type none -framerate ${fps} -i`),
    `file:${path}`,
    ...words(`-vf ${fit},setsar=1,format=yuv420p,${still} -frames:v ${fps * CLIP_SECONDS} -an`),
    ...words(`-c:v libx264 -preset superfast -tune stillimage -profile:v ${profile} -bf 0 -threads 1`),
    ...words(`-crf 24 -maxrate 2M -bufsize 2M -g ${fps * CLIP_SECONDS} -sc_threshold 0`),
    ...words('-flvflags no_duration_filesize -f flv pipe:1'),
  ]
}

function words(text: string): string[] {
  return text.split(' ')
}
