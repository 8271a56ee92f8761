import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { runFfmpeg } from '../../media/testing/ffmpeg.ts'
import type { MediaWork } from '../../media/work/types.ts'
import { sceneOf } from '../../src/domains/media/studio/renders/scene-files.ts'
import type { ProjectData, TemplateValues } from '../../src/domains/media/studio/schemas.ts'
import type { TemplateKey } from '../../src/domains/media/studio/templates/index.ts'
import type { TemplateInput } from '../../src/domains/media/studio/templates/template.ts'

/** Values for each template, and pictures of what it makes of them. */

const PREVIEW_WIDTH = 360

const [DAWN, LAKE, SOUND, VIDEO] = ['dawn', 'lake', 'sound', 'video']

const landscape = (sky: readonly [string, string], hills: readonly [string, string, string], sun: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="1200"><defs><linearGradient id="s" x2="0" y2="1">
   <stop stop-color="${sky[0]}"/><stop offset="1" stop-color="${sky[1]}"/></linearGradient></defs>
   <rect width="1600" height="1200" fill="url(#s)"/><circle cx="1080" cy="430" r="150" fill="${sun}"/>
   <path d="M0 760 Q400 430 800 720 T1600 560 V1200 H0Z" fill="${hills[0]}"/>
   <path d="M0 900 Q500 640 950 880 T1600 780 V1200 H0Z" fill="${hills[1]}"/>
   <path d="M0 1060 Q600 860 1100 1030 T1600 980 V1200 H0Z" fill="${hills[2]}"/></svg>`

/** Makes the files that the samples name. @returns their paths */
export async function makeFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map([DAWN, LAKE, SOUND, VIDEO].map((name) => [name, join(folder, name)]))
  const pathOf = (name: string) => files.get(name) ?? ''
  const dawn = landscape(['#355c7d', '#f8b195'], ['#6c5b7b', '#4a4063', '#2f2a48'], '#ffe8c2')
  const lake = landscape(['#0077b6', '#caf0f8'], ['#52b788', '#2d6a4f', '#1b4332'], '#fffbe6')
  await sharp(Buffer.from(dawn)).png().toFile(pathOf(DAWN))
  await sharp(Buffer.from(lake)).png().toFile(pathOf(LAKE))
  const voice = "aevalsrc='sin(2*PI*220*t)*abs(sin(5*t)*sin(1.7*t)*cos(11*t))':d=4"
  await runFfmpeg('-f', 'lavfi', '-i', voice, '-f', 'wav', pathOf(SOUND))
  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'mp4']
  await runFfmpeg(
    '-loop',
    '1',
    '-i',
    pathOf(LAKE),
    '-i',
    pathOf(SOUND),
    '-vf',
    'scale=640:480',
    '-t',
    '2',
    ...h264,
    pathOf(VIDEO),
  )
  return files
}

export const segment = (text: string, startSeconds: number, endSeconds: number) => ({
  text,
  startSeconds,
  endSeconds,
  speaker: null,
})

export interface Sample extends TemplateInput {
  /** The moment of a video that the preview shows. */
  readonly at?: number
  readonly page?: number
}
const sample = (values: TemplateValues, rest: Partial<Sample> = {}): Sample => ({
  values,
  seconds: 2,
  segments: [],
  ...rest,
})

export const SAMPLES: Readonly<Record<TemplateKey, Sample>> = {
  'quote-card': sample({ text: 'We do not stream to be seen. We stream to be together.', author: 'Ada Nwosu' }),
  event: sample({
    title: 'Night of the small bands',
    when: 'Fri 27 Nov, 20:00',
    place: 'Old Harbour, Hall 3',
    text: 'Five bands, one stage, live on all channels.',
    pictureAssetIds: [DAWN],
  }),
  carousel: sample({
    title: 'Five things to check before you go live',
    bulletTexts: ['Sound first: nobody stays for noise.'],
    author: '@crier',
    pictureAssetIds: [DAWN],
  }),
  story: sample({ title: 'We are live tonight', text: 'Set a reminder 🔔', pictureAssetIds: [DAWN] }, { at: 1.5 }),
  audiogram: sample(
    { title: 'Why small bands tour in winter', author: 'Harbour Radio', soundAssetId: SOUND, pictureAssetIds: [LAKE] },
    { segments: [segment('“You meet the people who really want to be there.”', 0, 2)], at: 1 },
  ),
  subtitles: sample(
    { videoAssetId: VIDEO, transcriptId: '-', pageFormat: 'square' },
    { segments: [segment('And then', 0, 0.5), segment('the whole hall began to sing.', 0.5, 2)], at: 1 },
  ),
  slideshow: sample(
    { pictureAssetIds: [DAWN, LAKE], soundAssetId: SOUND, title: 'Our tour in pictures', pictureSeconds: 1 },
    { at: 0.9 },
  ),
}
let count = 0

export interface Stage {
  readonly work: MediaWork
  readonly folder: string
  readonly files: ReadonlyMap<string, string>
}

/** A picture of a page, or the frame of its video at a moment, as wide as a preview. */
export async function shot(
  { files, folder, work }: Stage,
  data: ProjectData,
  { at, page = 0 }: Pick<Sample, 'at' | 'page'>,
): Promise<Buffer> {
  const output = join(folder, `shot-${(count += 1)}`)
  mkdirSync(output)
  writeFileSync(`${output}.json`, JSON.stringify(sceneOf(data, files, at !== undefined)))
  const pages = at === undefined ? [page] : data.pages.map((_, index) => index)
  const { files: rendered } = await work.render(`${output}.json`, output, {
    format: at === undefined ? 'png' : 'mp4',
    pages,
  })
  let path = rendered[0]?.path ?? ''
  if (at !== undefined) {
    const frame = `${path}.png`
    await runFfmpeg('-ss', String(at), '-i', path, '-frames:v', '1', '-f', 'image2', frame)
    path = frame
  }
  return sharp(path).resize(PREVIEW_WIDTH).webp({ quality: 90 }).toBuffer()
}
