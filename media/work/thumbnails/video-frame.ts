import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { TimedMedia } from '../probe/timed.ts'
import { openImage, type ImageSource } from './image.ts'

/** Positions to look for a frame, as fractions of the duration. The first frame with enough contrast is used. */
const POSITIONS = [0.1, 0.35, 0.6, 0.85] as const
/** Number of frames from which ffmpeg picks the most representative one, which avoids flashes and cuts. */
const FRAMES = 12
/** Standard deviation of the brightness (0 to 255) below which a frame counts as blank, such as black. */
const BLANK_DEVIATION = 6

/** Opens a representative frame of a video. @throws MediaWorkError */
export async function openFrame(
  path: string,
  media: TimedMedia,
  edge: number,
  context: WorkContext,
): Promise<ImageSource> {
  const seconds = media.seconds ?? 0
  let best: { image: ImageSource; deviation: number } | undefined
  for (const position of seconds > 0 ? POSITIONS : [0]) {
    const image = await frameAt(path, media, seconds * position, edge, context)
    if (image === undefined) continue
    const deviation = await brightnessDeviation(image)
    if (best === undefined || deviation > best.deviation) best = { image, deviation }
    if (deviation > BLANK_DEVIATION) break
  }
  // The declared duration is wrong. Use the first frame.
  best ??= { image: await firstFrame(path, media, edge, context), deviation: 0 }
  return best.image
}

async function firstFrame(path: string, media: TimedMedia, edge: number, context: WorkContext): Promise<ImageSource> {
  const image = await frameAt(path, media, 0, edge, context)
  if (image === undefined) throw new MediaWorkError('damaged', 'No frame of the video can be decoded.')
  return image
}

/** A frame at or after this time. Undefined if there is none. */
async function frameAt(
  path: string,
  { video }: TimedMedia,
  seconds: number,
  edge: number,
  context: WorkContext,
): Promise<ImageSource | undefined> {
  const file = join(await context.scratch(), `frame-${Math.round(seconds * 1000)}.png`)
  const scale = Math.min(1, edge / Math.max(video?.width ?? 1, video?.height ?? 1))
  const size = [video?.width ?? 1, video?.height ?? 1].map((length) => Math.max(1, Math.round(length * scale)))
  const filters = [`thumbnail=n=${FRAMES}`, `scale=${size.join(':')}:flags=area`, 'setsar=1', 'format=rgb24']
  await context.ffmpeg.run({
    input: path,
    inputOptions: ['-ss', seconds.toFixed(3), '-an', '-sn', '-dn'],
    outputOptions: [
      '-map',
      '0:V:0',
      '-vf',
      filters.join(','),
      '-frames:v',
      '1',
      '-compression_level',
      '1',
      '-f',
      'image2',
    ],
    output: file,
    signal: context.signal,
  })
  const bytes = await stat(file).then(
    ({ size: length }) => length,
    () => 0,
  )
  return bytes === 0 ? undefined : openImage(file, { decoder: 'sharp', mime: 'image/png', bytes }, context.limits)
}

async function brightnessDeviation(image: ImageSource): Promise<number> {
  const { channels } = await sharp(
    await image.open().greyscale().resize(64, 64, { fit: 'fill' }).png().toBuffer(),
  ).stats()
  return channels[0]?.stdev ?? 0
}
