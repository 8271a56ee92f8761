/**
 * Media work beside what it is made of, all in one run on one machine: `npm run bench:media`.
 *
 * 1. Thumbnails a second (12-megapixel JPEG, two sizes and a blurhash) against bare sharp at its best setting (two sizes).
 * 2. The time of a transcode against the bare ffmpeg command.
 * 3. The 99th percentile of an API call of a whole Crier, idle and while both lanes of media work are full.
 *
 * The sides take turns, several rounds; medians are quoted. Nothing here is an assertion. `ROUNDS` and `SECONDS` change
 * its length. Linux only. Media work has niceness 0 in the first two, as its rivals have, and its own in the third.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMediaWork } from '../../media/work/media-work.ts'
import type { MediaWork } from '../../media/work/types.ts'
import { CrierProcess } from '../support/crier-process.ts'
import { latencyOf, type Latency } from './media/latency.ts'
import { compareThumbnails, makePhotograph } from './media/thumbnails.ts'
import { compareTranscodes, makeVideo } from './media/transcodes.ts'
import { machine, median } from './support/process.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 8)
const COUNT = 24

const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
const nothing = (): void => {}
const log = { debug: nothing, info: nothing, warn: console.error, error: console.error }
const photograph = join(folder, 'photograph')
const video = join(folder, 'video')

function open(options: { niceness?: number } = {}): MediaWork {
  const ffmpegPath = process.env['FFMPEG_PATH'] ?? 'ffmpeg'
  return startMediaWork({ ffmpegPath, ffprobePath: 'ffprobe', tempDir: folder, log, ...options })
}

const load = () => loadavg()[0]?.toFixed(1) ?? '?'
const percent = (ratio: number) => `**${(ratio * 100).toFixed(0)} %**`

/** Keeps both lanes full until it is told to stop. */
function saturate(work: MediaWork): () => Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  const keepOn = async (job: () => Promise<unknown>) => {
    while (!signal.aborted) await job().catch(nothing)
  }
  const sizes = [{ name: 'large', edge: 1280 }]
  const { quick, long } = work.stats()
  const jobs = [
    ...Array.from({ length: quick.concurrency * 2 }, (_, index) => () => {
      return work.thumbnails(photograph, join(folder, 'out', String(index)), { sizes, signal })
    }),
    ...Array.from({ length: long.concurrency * 2 }, (_, index) => () => {
      return work.transcode(video, join(folder, `saturated-${index}`), { kind: 'video' }, { signal })
    }),
  ].map(keepOn)
  return async () => {
    stop.abort()
    await Promise.all(jobs)
  }
}

async function api(): Promise<void> {
  const crier = await CrierProcess.start(folder, undefined, { CHECK_REPLIES: '0' })
  const work = open()
  const rows: { idle: Latency; busy: Latency }[] = []
  let made = 0
  try {
    const url = `${crier.url}/api/health`
    await latencyOf(url, 3)
    for (let round = 0; round < Math.min(3, ROUNDS); round += 1) {
      const idle = await latencyOf(url, SECONDS)
      const before = work.stats().quick.done
      const relax = saturate(work)
      await latencyOf(url, 2)
      const busy = await latencyOf(url, SECONDS)
      await relax()
      made += work.stats().quick.done - before
      rows.push({ idle, busy })
    }
  } finally {
    await work.close()
    await crier.stop()
  }
  const of = (side: 'idle' | 'busy', key: keyof Latency) => median(rows.map((row) => row[side][key])).toFixed(2)
  const ratio = median(rows.map(({ idle, busy }) => busy.p99Ms / idle.p99Ms))
  console.log('\n| GET /api/health, 200 a second | p50 ms | p99 ms | p99 against idle |')
  console.log('|---|---|---|---|')
  console.log(`| idle | ${of('idle', 'p50Ms')} | ${of('idle', 'p99Ms')} | |`)
  console.log(
    `| both lanes full (${made} thumbnails meanwhile) | ${of('busy', 'p50Ms')} | ${of('busy', 'p99Ms')} | **${ratio.toFixed(2)}×** |`,
  )
}

try {
  console.log(`Machine: ${machine()}, load average ${load()} before. ${ROUNDS} rounds.\n`)
  for (let index = 0; index < COUNT; index += 1) mkdirSync(join(folder, 'out', String(index)), { recursive: true })
  await Promise.all([makePhotograph(photograph), makeVideo(video, 10)])
  const work = open({ niceness: 0 })
  const thumbnails = { photograph, folder: join(folder, 'out'), count: COUNT, rounds: ROUNDS }
  const still = await compareThumbnails(work, thumbnails)
  console.log('| thumbnails of a 12-megapixel JPEG | pictures/s | ratio | ratio of CPU time |\n|---|---|---|---|')
  console.log(
    `| media work, 1280 and 320 px and blurhash | ${still.ours.toFixed(1)} | ${percent(still.rateRatio)} | ${percent(still.cpuRatio)} |`,
  )
  console.log(`| bare sharp, 1280 and 320 px; ${still.bareSetting} | ${still.bare.toFixed(1)} | | |`)
  const moving = await compareTranscodes(work, { video, folder, rounds: ROUNDS })
  console.log('\n| transcode of 10 s of 720p25 | s | ratio |\n|---|---|---|')
  console.log(`| media work | ${moving.oursSeconds.toFixed(2)} | **${moving.ratio.toFixed(3)}×** |`)
  console.log(`| the bare ffmpeg command | ${moving.bareSeconds.toFixed(2)} | |`)
  await work.close()
  await api()
  console.log(`\nLoad average ${load()} after.`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
