/**
 * The cost of playing a file out and of recording a stream: CPU time of the media process compared with
 * `ffmpeg -re -c copy` of the same file (1280×720, 30 frames per second, about 5 Mb/s) at the same time. Both push to
 * RTMP destinations in a separate process. The run fails when a file does not arrive, or is not recorded, at its rate.
 * `SECONDS` is the length of each measurement, `WARM_UP` the time before it.
 *
 *     npm run bench:broadcast
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startMediaProcess } from '../../media/process/host.ts'
import { makeClip } from '../../media/testing/ffmpeg.ts'
import type { DesiredStream } from '../../media/types.ts'
import { startBenchSink } from './relay/sink.ts'
import { machine, scheduledSeconds } from './support/process.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 20)
const WARM_UP = Number(process.env['WARM_UP'] ?? 5)
const FILM_SECONDS = 30
/** The tolerance of a destination's or recording's rate, for data in transit at the edges of the window. */
const TOLERANCE = 0.1

const folder = await mkdtemp(join(tmpdir(), 'crier-bench-'))
const file = join(folder, 'film.mp4')
const rate = ['-b:v', '5M', '-minrate', '5M', '-maxrate', '5M', '-bufsize', '5M', '-x264-params', 'nal-hrd=cbr']
await makeClip(file, { seconds: FILM_SECONDS, group: 60, size: '1280x720', extra: rate })
const bytesPerSecond = (await stat(file)).size / FILM_SECONDS

const log = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error }
const sink = await startBenchSink()
const host = startMediaProcess({
  host: '127.0.0.1',
  port: 0,
  allowPrivateAddresses: true,
  authorizePublish: async () => ({ allowed: false, reason: 'a benchmark' }),
  onEvent: () => {},
  log,
})
await host.ready

/** Bytes received at the sink by stream key, and bytes of recordings by stream. */
async function arrived(): Promise<Map<string, number>> {
  const bytes = new Map<string, number>()
  const add = (key: string, count: number) => bytes.set(key, (bytes.get(key) ?? 0) + count)
  for (const { bytes: count, streamKey } of await sink.connections()) if (streamKey !== null) add(streamKey, count)
  for (const name of await readdir(folder)) {
    const stream = /^recording-(\d+)/.exec(name)?.[1]
    if (stream !== undefined) add(`recording-${stream}`, (await stat(join(folder, name))).size)
  }
  return bytes
}

/**
 * The CPU use of processes over a window, each in percent of a core.
 * @param expected keys that must receive the file at its rate during the window
 */
async function used(pids: readonly number[], expected: readonly string[]): Promise<number[]> {
  await delay(WARM_UP * 1_000)
  const began = performance.now()
  const [bytes, cpu] = [await arrived(), pids.map(scheduledSeconds)]
  await delay(SECONDS * 1_000)
  const seconds = (performance.now() - began) / 1_000
  const after = pids.map(scheduledSeconds)
  const bytesAfter = await arrived()
  for (const key of expected) {
    const share = ((bytesAfter.get(key) ?? 0) - (bytes.get(key) ?? 0)) / seconds / bytesPerSecond
    if (Math.abs(share - 1) > TOLERANCE) {
      throw new Error(
        `${key} received ${(share * 100).toFixed(0)} % of the bitrate of the file, so there are no figures`,
      )
    }
  }
  return after.map((value, index) => ((value - (cpu[index] ?? 0)) / seconds) * 100)
}

function apply(count: number, recorded: boolean): void {
  for (let index = 0; index < count; index += 1) {
    const id = `stream-${index}`
    const playout = { id: 'b', items: [{ path: file }], loop: true, paused: false, item: 0, ms: 0, cue: 0 }
    const recording = { sessionId: 's', prefix: join(folder, `recording-${index}`), splitMs: 3_600_000 }
    const destinations = [{ id: 'd', url: `rtmp://127.0.0.1:${sink.port}/live`, streamKey: id }]
    const stream: DesiredStream = { streamId: id, path: id, keyHash: id, live: true, destinations, playout }
    host.apply(recorded ? { ...stream, recording } : stream)
  }
}

const keys = (kind: string, count: number) => Array.from({ length: count }, (_, index) => `${kind}-${index}`)
const print = (what: string, percent = Number.NaN) => console.log(`| ${what} | ${percent.toFixed(2)} |`)

try {
  const pid = host.pid() ?? 0
  console.log(`${machine()}\n\n| what | CPU, % of a core |\n|---|---|`)
  const [idle] = await used([pid], [])
  print('media process, idle', idle)
  const loop = ['-v', 'error', '-re', '-stream_loop', '-1', '-i', file, '-c', 'copy', '-f', 'flv']
  const ffmpeg = spawn('ffmpeg', [
    ...loop,
    '-flvflags',
    'no_duration_filesize',
    `rtmp://127.0.0.1:${sink.port}/live/ffmpeg`,
  ])
  apply(1, false)
  const [one, other] = await used([pid, ffmpeg.pid ?? 0], ['stream-0', 'ffmpeg']).finally(() => ffmpeg.kill())
  print('`ffmpeg -re -c copy`, one file', other)
  print('media process, one file', one)
  apply(10, false)
  print('media process, ten files', (await used([pid], keys('stream', 10)))[0])
  apply(10, true)
  const all = [...keys('stream', 10), ...keys('recording', 10)]
  print('media process, ten files, all recorded', (await used([pid], all))[0])
} finally {
  await host.close()
  await sink.close()
  await rm(folder, { recursive: true, force: true })
}
