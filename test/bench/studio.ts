/**
 * Renderings of the studio compared with the tools they use, in one run on one machine: `npm run bench:studio`.
 *
 * 1. A slideshow of 30 seconds (six photographs of 1080p, and a sound) against the bare ffmpeg command: the same pictures,
 *    encoder, sound and settings, from a list of files with durations. `FADES=1` also fades the pictures in, which the bare
 *    command does not do.
 * 2. Quote cards (1080 × 1080, PNG) per minute, as many at a time as the lane of media work allows.
 * 3. The 99th percentile of API calls, idle and while slideshows and quote cards are rendered.
 *
 * The sides alternate for several rounds; the figures are medians. Nothing is asserted. `ROUNDS` and `SECONDS` set the
 * length. Media work has niceness 0 in the first two, like the baseline, and its usual niceness in the third.
 */
import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { findFfmpeg, runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { startMediaWork } from '../../media/work/media-work.ts'
import type { Scene } from '../../media/work/studio/scene.ts'
import type { MediaWork } from '../../media/work/types.ts'
import { sceneOf } from '../../src/domains/media/studio/renders/scene-files.ts'
import { buildProject } from '../../src/domains/media/studio/templates/from-template.ts'
import { TEMPLATES } from '../../src/domains/media/studio/templates/index.ts'
import { compareApi } from './media/api.ts'
import { machine, median } from './support/process.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 8)
const PICTURES = 6
const PICTURE_SECONDS = 5
const CARDS = 24

const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
const nothing = (): void => {}
const log = { debug: nothing, info: nothing, warn: console.error, error: console.error }
const sound = join(folder, 'sound.wav')
const pictures = Array.from({ length: PICTURES }, (_, index) => join(folder, `picture-${index}.jpg`))
let outputs = 0

function open(options: { niceness?: number } = {}): MediaWork {
  return startMediaWork({ ffmpegPath: findFfmpeg(), ffprobePath: 'ffprobe', tempDir: folder, log, ...options })
}

/** Pictures with the details of photographs: noise at several sizes. */
async function makePictures(): Promise<void> {
  for (const [index, path] of pictures.entries()) {
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
    const coarse = sharp({ create: { width: 96, height: 54, channels: 3, background: '#808080', noise } })
    const large = await coarse.resize(1920, 1080).png().toBuffer()
    await sharp(large)
      .modulate({ hue: index * 60 })
      .jpeg({ quality: 92 })
      .toFile(path)
  }
  await runFfmpeg('-f', 'lavfi', '-i', 'anoisesrc=color=pink:amplitude=0.1:duration=40', sound)
}

function slideshow(): Scene {
  const layers = (path: string) => [
    {
      kind: 'picture' as const,
      path,
      left: 0,
      top: 0,
      width: 1920,
      height: 1080,
      ...(process.env['FADES'] === '1' && { enter: { effect: 'fade' as const, seconds: 0.5 } }),
    },
  ]
  const page = { width: 1920, height: 1080, background: '#000000', seconds: PICTURE_SECONDS }
  return { pages: pictures.map((path) => ({ ...page, layers: layers(path) })), sound: { path: sound } }
}

function quoteCard(number: number): Scene {
  const values = { text: `${number} of us have stood in the rain to hear this.`, author: 'Ada Nwosu' }
  return sceneOf(buildProject(TEMPLATES['quote-card'], { values, seconds: 0, segments: [] }), new Map(), false)
}

let cards = 0
/** A quote card that no other rendering of this run has. */
const nextCard = (): Scene => quoteCard((cards += 1))

/** @returns the first file */
async function render(work: MediaWork, scene: Scene, format: 'png' | 'mp4', signal?: AbortSignal): Promise<Buffer> {
  const output = join(folder, `output-${(outputs += 1)}`)
  mkdirSync(output)
  writeFileSync(`${output}.json`, JSON.stringify(scene))
  const options = { format, pages: scene.pages.map((_, index) => index) }
  const { files } = await work.render(`${output}.json`, output, options, { signal })
  const bytes = await readFile(files[0]?.path ?? '')
  rmSync(output, { recursive: true })
  return bytes
}

/** The bare ffmpeg command for the same file. */
async function bareSlideshow(): Promise<void> {
  const list = join(folder, 'list.txt')
  const lines = pictures.flatMap((path) => [`file '${path}'`, `duration ${PICTURE_SECONDS}`])
  writeFileSync(list, ['ffconcat version 1.0', ...lines, `file '${pictures.at(-1)}'`, ''].join('\n'))
  const seconds = PICTURES * PICTURE_SECONDS
  const picture = 'scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,fps=30,setsar=1'
  const encoder = '-c:v libx264 -preset veryfast -crf 20 -maxrate 12000k -bufsize 12000k -profile:v high -g 60'
  const audio = `-af afade=t=out:st=${seconds - 1}:d=1 -c:a aac -b:a 128k -ac 2 -ar 48000`
  const rest = `${encoder} ${audio} -t ${seconds} -movflags +faststart -f mp4`.split(' ')
  const inputs = ['-f', 'concat', '-safe', '0', '-i', list, '-stream_loop', '-1', '-i', sound]
  await runFfmpeg(...inputs, '-map', '0:v', '-map', '1:a', '-vf', picture, ...rest, join(folder, 'bare.mp4'))
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await run()
  return (performance.now() - started) / 1000
}

async function compareSlideshows(work: MediaWork): Promise<void> {
  const rows: { ours: number; bare: number }[] = []
  for (let round = -1; round < ROUNDS; round += 1) {
    const ours = await timed(() => render(work, slideshow(), 'mp4'))
    const bare = await timed(bareSlideshow)
    // The first round warms up.
    if (round >= 0) rows.push({ ours, bare })
  }
  const ratio = median(rows.map(({ bare, ours }) => ours / bare))
  console.log('| slideshow of 30 s in 1080p, with sound | s | ratio |\n|---|---|---|')
  console.log(`| studio | ${median(rows.map(({ ours }) => ours)).toFixed(2)} | **${ratio.toFixed(3)}×** |`)
  console.log(`| the bare ffmpeg command | ${median(rows.map(({ bare }) => bare)).toFixed(2)} | |`)
}

async function measureCards(work: MediaWork): Promise<void> {
  const rates: number[] = []
  const pictures: Buffer[] = []
  for (let round = -1; round < ROUNDS; round += 1) {
    const scenes = Array.from({ length: CARDS }, nextCard)
    const seconds = await timed(async () => {
      pictures.push(...(await Promise.all(scenes.map((scene) => render(work, scene, 'png')))))
    })
    if (round >= 0) rates.push((CARDS / seconds) * 60)
  }
  await requireCards(pictures)
  console.log(`\n| quote cards a minute, ${CARDS} at once; all ${pictures.length} pictures differ |\n|---|`)
  console.log(`| **${median(rates).toFixed(0)}** |`)
}

/** Otherwise a cache would have been measured. @throws Error unless each picture is another whole card */
async function requireCards(pictures: readonly Buffer[]): Promise<void> {
  const seen = new Set<string>()
  for (const bytes of pictures) {
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true })
    if (info.width !== 1080 || info.height !== 1080) throw new Error(`a card has ${info.width} × ${info.height} pixels`)
    seen.add(hash('sha1', data))
  }
  if (seen.size !== pictures.length) throw new Error(`${pictures.length - seen.size} cards are the same as others`)
}

async function measureApi(): Promise<void> {
  const work = open()
  const jobs = (signal: AbortSignal) => {
    const { long, quick } = work.stats()
    return [
      ...Array.from({ length: quick.concurrency * 2 }, () => () => render(work, nextCard(), 'png', signal)),
      ...Array.from({ length: long.concurrency * 2 }, () => () => render(work, slideshow(), 'mp4', signal)),
    ]
  }
  try {
    const options = { work, folder, photograph: '', video: '', rounds: ROUNDS, seconds: SECONDS, jobs }
    const { made, rows } = await compareApi(options)
    console.log(`\n| 200 requests per second; ${made} quote cards meanwhile | p99 ms idle | p99 ms rendering | ratio |`)
    console.log('|---|---|---|---|')
    for (const { busy, idle, ratio, request } of rows) {
      console.log(`| ${request} | ${idle.p99Ms.toFixed(2)} | ${busy.p99Ms.toFixed(2)} | **${ratio.toFixed(2)}×** |`)
    }
  } finally {
    await work.close()
  }
}

try {
  console.log(`Machine: ${machine()}, load average ${loadavg()[0]?.toFixed(1) ?? '?'} before. ${ROUNDS} rounds.\n`)
  await makePictures()
  const work = open({ niceness: 0 })
  await compareSlideshows(work)
  await measureCards(work)
  await work.close()
  await measureApi()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
