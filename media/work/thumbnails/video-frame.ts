import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { TimedMedia } from '../probe/timed.ts'
import { openPicture, type Picture } from './picture.ts'

/** Where to look for a frame, as parts of the length. The first that shows something is taken. */
const PLACES = [0.1, 0.35, 0.6, 0.85] as const
/** Out of so many frames from there ffmpeg picks the one that is most like all of them: no flash, no cut. */
const FRAMES = 12
/** Mean deviation of the brightness, of 255, below which a frame shows nothing: black, or any one colour. */
const FLAT = 6

/** A frame that tells what the video is about. @throws MediaWorkError */
export async function openFrame(path: string, media: TimedMedia, edge: number, context: WorkContext): Promise<Picture> {
  const seconds = media.seconds ?? 0
  let best: { picture: Picture; deviation: number } | undefined
  for (const place of seconds > 0 ? PLACES : [0]) {
    const picture = await frameAt(path, media, seconds * place, edge, context)
    if (picture === undefined) continue
    const deviation = await brightnessDeviation(picture)
    if (best === undefined || deviation > best.deviation) best = { picture, deviation }
    if (deviation > FLAT) break
  }
  // A length that is not true: there is a frame at the beginning, if there is any.
  best ??= { picture: await firstFrame(path, media, edge, context), deviation: 0 }
  return best.picture
}

async function firstFrame(path: string, media: TimedMedia, edge: number, context: WorkContext): Promise<Picture> {
  const picture = await frameAt(path, media, 0, edge, context)
  if (picture === undefined) throw new MediaWorkError('damaged', 'No frame of it can be decoded.')
  return picture
}

/** Undefined when nothing comes after this time. */
async function frameAt(
  path: string,
  { video }: TimedMedia,
  seconds: number,
  edge: number,
  context: WorkContext,
): Promise<Picture | undefined> {
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
  return bytes === 0 ? undefined : openPicture(file, { way: 'picture', mime: 'image/png', bytes }, context.limits)
}

async function brightnessDeviation(picture: Picture): Promise<number> {
  const { channels } = await sharp(
    await picture.open().greyscale().resize(64, 64, { fit: 'fill' }).png().toBuffer(),
  ).stats()
  return channels[0]?.stdev ?? 0
}
