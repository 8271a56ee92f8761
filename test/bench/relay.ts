/**
 * Live fan-out compared with the two usual ways without Crier, in one run on one machine: `npm run bench:relay`.
 *
 * 1. CPU seconds per relayed Gbit and memory, from one publisher at 5 Mb/s to 1, 4 and 10 destinations: Crier's media
 *    process, nginx-rtmp with `push`, and one `ffmpeg -c copy` for each destination. `--wide` adds 4 publishers to 16
 *    and to 100 destinations (without ffmpeg), `--rtmps` one to 4 by RTMPS and to 40 (without ffmpeg; nginx has none).
 *    `--only=` selects one part: `fan-out`, `wide`, `rtmps` or `latency`.
 * 2. The delay that the relay adds, 1 to 4: from sending a frame to its complete arrival at the destination.
 *
 * The sides alternate for several rounds; the figures are medians. Nothing is asserted. `ROUNDS`, `SECONDS` and `WARM_UP`
 * (seconds) set the length; `CPU_PROF=<folder>` profiles the media process. Linux only.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureFanOut, type Fan, type FanOutFigures } from './relay/fan-out.ts'
import { measureLatency, type LatencyFigures } from './relay/latency.ts'
import { crier, direct, ffmpegEach, nginxPush, type Side } from './relay/sides.ts'
import { makeBenchSource } from './relay/source.ts'
import { machine, median } from './support/process.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 25)
const WARM_UP = Number(process.env['WARM_UP'] ?? 12)
const ONLY = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length)

const FANS: readonly Fan[] = [1, 4, 10].map((destinations) => ({ streams: 1, destinations }))
const WIDE: readonly Fan[] = [16, 100].map((destinations) => ({ streams: 4, destinations }))

const SECURE: Fan = { streams: 1, destinations: 4, secure: true }
const SECURE_WIDE: Fan = { ...SECURE, destinations: 40 }

const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
const file = join(folder, 'source.flv')

/** Rounds, each with every side. */
async function rounds<Figures>(sides: readonly Side[], measure: (side: Side) => Promise<Figures>) {
  const all = new Map<Side, Figures[]>(sides.map((side) => [side, []]))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of sides) {
      console.error(`round ${round + 1}: ${side.name}, load average ${load()}`)
      all.get(side)?.push(await measure(side))
    }
  }
  return all
}

const load = () => loadavg()[0]?.toFixed(1) ?? '?'
const mega = (bytes: number) => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)

async function fanOut(fan: Fan, sides: readonly Side[]): Promise<void> {
  const options = { file, folder, warmUpSeconds: WARM_UP, seconds: SECONDS }
  const all = await rounds(sides, (side) => measureFanOut(side, fan, options))
  for (const side of sides) {
    const of = (key: keyof FanOutFigures) => median(all.get(side)?.map((figures) => figures[key]) ?? [])
    const memory = of('residentBytes')
    const costs = all.get(side)?.map(({ cpuSecondsPerGbit }) => cpuSecondsPerGbit) ?? []
    const range = `${Math.min(...costs).toFixed(3)}–${Math.max(...costs).toFixed(3)}`
    const ours = all.get(crier)?.map(({ cpuSecondsPerGbit }) => cpuSecondsPerGbit) ?? []
    const ratio = median(costs.map((cost, round) => cost / (ours[round] ?? Number.NaN)))
    console.log(
      `| ${fan.streams}→${fan.destinations}${fan.secure ? ' RTMPS' : ''} | ${side.name} | ${of('cpuPercent').toFixed(2)} | ${of('cpuSecondsPerGbit').toFixed(3)} | ${range} | ${side === crier ? '1' : `**${ratio.toFixed(2)}**`} | ${mega(memory)} | ${mega(memory / fan.destinations)} | ${mega(of('proportionalBytes'))} | ${mega(of('slowestBitrate'))} |`,
    )
  }
}

async function latency(sides: readonly Side[]): Promise<void> {
  const options = { file, folder, destinations: 4, warmUpSeconds: Math.min(WARM_UP, 8), seconds: SECONDS }
  const all = await rounds(sides, (side) =>
    measureLatency(side, { ...options, destinations: side === direct ? 1 : options.destinations }),
  )
  for (const side of sides) {
    const figures = all.get(side) ?? []
    const of = (key: keyof LatencyFigures) => median(figures.map((one) => one[key] ?? Number.NaN))
    const total = (key: 'frames' | 'lost') => figures.reduce((sum, one) => sum + one[key], 0)
    const joined = figures[0]?.joinedFirstFrameMs == null ? '-' : of('joinedFirstFrameMs').toFixed(0)
    const worst = Math.max(...figures.map(({ maxMs }) => maxMs))
    console.log(
      `| ${side.name} | ${of('p50Ms').toFixed(2)} | ${of('p95Ms').toFixed(2)} | ${of('p99Ms').toFixed(2)} | ${worst.toFixed(1)} | ${of('firstFrameMs').toFixed(0)} | ${joined} | ${total('frames')} | ${total('lost')} |`,
    )
  }
}

try {
  await makeBenchSource(file, 20)
  const has = (part: string) => ONLY === part || (ONLY === undefined && process.argv.includes(`--${part}`))
  console.log(`Machine: ${machine()}, load average ${load()} before. ${ROUNDS} rounds of ${SECONDS} s.\n`)
  if (ONLY !== 'latency') {
    const fans = ONLY === undefined || ONLY === 'fan-out' ? FANS : []
    console.log(
      '| streams→destinations | relay | CPU % of a core | CPU-s per Gbit | range | ratio to Crier | RSS MB | RSS MB per destination | PSS MB | slowest Mb/s |',
    )
    console.log('|---|---|---|---|---|---|---|---|---|---|')
    for (const fan of fans) await fanOut(fan, [crier, nginxPush, ffmpegEach])
    if (has('wide')) for (const fan of WIDE) await fanOut(fan, [crier, nginxPush])
    if (has('rtmps')) {
      await fanOut(SECURE, [crier, ffmpegEach])
      await fanOut(SECURE_WIDE, [crier])
    }
  }
  if (ONLY === undefined || ONLY === 'latency') {
    console.log(
      '\n| relay, 1→4 | p50 ms | p95 | p99 | max | first frame ms | first frame when added live, ms | frames | lost |',
    )
    console.log('|---|---|---|---|---|---|---|---|---|')
    await latency([direct, crier, nginxPush, ffmpegEach])
  }
  console.log(`\nLoad average ${load()} after.`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
