import { fileURLToPath } from 'node:url'

/** A clip lasts this long, with one keyframe at its beginning: what platforms ask for. */
const SECONDS = 2

/** What a slate has in common with the pictures that it stands in for. */
export interface SlateForm {
  readonly width: number
  readonly height: number
  /** Whole pictures a second. */
  readonly fps: number
  /** Of H.264. */
  readonly profile: 'baseline' | 'main' | 'high'
}

/** What is shown where nobody chose a picture, and the colour around it. */
const CARD = { path: fileURLToPath(new URL('card.png', import.meta.url)), around: '0x14181f' }

/**
 * ffmpeg from a picture to an FLV stream of H.264 that can be sent again and again: the whole picture in the middle,
 * decoded once, 2 Mbit/s at most.
 * @param picture path of the picture; the card where there is none
 */
export function slateArguments({ fps, height, profile, width }: SlateForm, picture: string | undefined): string[] {
  const { path, around } = picture === undefined ? CARD : { path: picture, around: 'black' }
  const size = `${width}:${height}`
  const fitted = `scale=${size}:force_original_aspect_ratio=decrease,pad=${size}:(ow-iw)/2:(oh-ih)/2:color=${around}`
  const still = `loop=loop=-1:size=1,setpts=N/(${fps}*TB)`
  return [
    ...words('-hide_banner -loglevel error -nostdin -nostats -protocol_whitelist file,pipe'),
    ...words(`-f image2 -pattern_type none -framerate ${fps} -i`),
    `file:${path}`,
    ...words(`-vf ${fitted},setsar=1,format=yuv420p,${still} -frames:v ${fps * SECONDS} -an`),
    ...words(`-c:v libx264 -preset superfast -tune stillimage -profile:v ${profile} -bf 0 -threads 1`),
    ...words(`-crf 24 -maxrate 2M -bufsize 2M -g ${fps * SECONDS} -sc_threshold 0`),
    ...words('-flvflags no_duration_filesize -f flv pipe:1'),
  ]
}

function words(text: string): string[] {
  return text.split(' ')
}
