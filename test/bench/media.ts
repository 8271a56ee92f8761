/**
 * Media work compared with the tools it uses, in one run on one machine: `npm run bench:media`.
 *
 * 1. Thumbnails per second (12-megapixel JPEG, two sizes and a blurhash) against bare sharp at its best setting (two sizes).
 * 2. The duration of a transcode against the bare ffmpeg command.
 * 3. The 99th percentile of API calls (one without and one with the database), idle and while both lanes of media work are
 *    full. Requests come from a separate process, and times count from when a request was sent.
 *
 * The sides alternate for several rounds; the figures are medians. Nothing is asserted. `ROUNDS` and `SECONDS` set the
 * length. Linux only. Media work has niceness 0 in the first two, like the baselines, and its usual niceness in the third.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMediaWork } from '../../media/work/media-work.ts'
import type { MediaWork } from '../../media/work/types.ts'
import { compareApi } from './media/api.ts'
import type { Latency } from './media/latency.ts'
import { compareThumbnails, makePhotograph } from './media/thumbnails.ts'
import { compareTranscodes, makeVideo } from './media/transcodes.ts'
import { machine } from './support/process.ts'
import { findFfmpeg } from '../../media/testing/ffmpeg.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 8)
const COUNT = 24

const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
const nothing = (): void => {}
const log = { debug: nothing, info: nothing, warn: console.error, error: console.error }
const photograph = join(folder, 'photograph')
const video = join(folder, 'video')

function open(options: { niceness?: number } = {}): MediaWork {
  const ffmpegPath = findFfmpeg()
  return startMediaWork({ ffmpegPath, ffprobePath: 'ffprobe', tempDir: folder, log, ...options })
}

const load = () => loadavg()[0]?.toFixed(1) ?? '?'
const percent = (ratio: number) => `**${(ratio * 100).toFixed(0)} %**`

async function api(): Promise<void> {
  const work = open()
  try {
    const { made, rows } = await compareApi({ work, folder, photograph, video, rounds: ROUNDS, seconds: SECONDS })
    console.log(
      `\n| 200 requests per second; ${made} thumbnails while both lanes were full | p50 ms | p99 ms | ratio to idle |`,
    )
    console.log('|---|---|---|---|')
    for (const { busy, idle, ratio, request } of rows) {
      const line = (side: string, { lateMs, p50Ms, p99Ms }: Latency, end: string) =>
        console.log(
          `| ${request}, ${side} (requests sent up to ${lateMs.toFixed(1)} ms late) | ${p50Ms.toFixed(2)} | ${p99Ms.toFixed(2)} | ${end} |`,
        )
      line('idle', idle, '')
      line('both lanes full', busy, `**${ratio.toFixed(2)}×**`)
    }
  } finally {
    await work.close()
  }
}

try {
  console.log(`Machine: ${machine()}, load average ${load()} before. ${ROUNDS} rounds.\n`)
  for (let index = 0; index < COUNT; index += 1) mkdirSync(join(folder, 'out', String(index)), { recursive: true })
  await Promise.all([makePhotograph(photograph), makeVideo(video, 10)])
  const work = open({ niceness: 0 })
  const thumbnails = { photograph, folder: join(folder, 'out'), count: COUNT, rounds: ROUNDS }
  const still = await compareThumbnails(work, thumbnails)
  console.log('| thumbnails of a 12-megapixel JPEG | images/s | ratio | ratio of CPU time |\n|---|---|---|---|')
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
