/**
 * What it costs to broadcast a file and to record a stream: CPU time of the media process beside that of
 * `ffmpeg -re -c copy`, of the same file (1280×720, 30 pictures a second, about 5 Mb/s), at the same time.
 *
 *     npm run bench:broadcast [-- <seconds>]
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startMediaProcess } from '../../media/process/host.ts'
import { makeClip } from '../../media/testing/ffmpeg.ts'
import type { DesiredStream } from '../../media/types.ts'

const seconds = Number(process.argv[2] ?? 20)
const folder = await mkdtemp(join(tmpdir(), 'crier-bench-'))
const file = join(folder, 'film.mp4')
const rate = ['-b:v', '5M', '-minrate', '5M', '-maxrate', '5M', '-bufsize', '5M', '-x264-params', 'nal-hrd=cbr']
await makeClip(file, { seconds: 30, group: 60, size: '1280x720', extra: rate })

/** CPU time of a process and all its threads, milliseconds. */
async function cpuMs(pid: number): Promise<number> {
  let sum = 0
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
    sum += Number(text.split(' ')[0]) / 1e6
  }
  return sum
}

async function used(pid: number): Promise<number> {
  await delay(3_000)
  const before = await cpuMs(pid)
  await delay(seconds * 1_000)
  return ((await cpuMs(pid)) - before) / seconds / 10
}

function streamOf(id: string, wish: Partial<DesiredStream>): DesiredStream {
  return { streamId: id, path: id, keyHash: id, live: true, destinations: [], ...wish }
}

const log = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error }
const host = startMediaProcess({
  host: '127.0.0.1',
  port: 0,
  allowPrivateAddresses: true,
  authorizePublish: async () => ({ allowed: false, reason: 'a benchmark' }),
  onEvent: () => {},
  log,
})
await host.ready
const pid = host.pid() ?? 0
const apply = (count: number, recorded: boolean) => {
  for (let index = 0; index < count; index += 1) {
    const playout = { id: 'b', items: [{ path: file }], loop: true, paused: false, item: 0, ms: 0, cue: 0 }
    const recording = { sessionId: 's', prefix: join(folder, `stream-${index}`), splitMs: 3_600_000 }
    host.apply(streamOf(`stream-${index}`, { playout, ...(recorded && { recording }) }))
  }
}
const print = (what: string, percent: number) => console.log(`${what.padEnd(44)} ${percent.toFixed(2)} % of a core`)

print('media process, idle', await used(pid))
const ffmpeg = spawn('ffmpeg', [
  '-v',
  'error',
  '-re',
  '-stream_loop',
  '-1',
  '-i',
  file,
  '-c',
  'copy',
  '-f',
  'flv',
  '-y',
  '/dev/null',
])
apply(1, false)
const [one, other] = await Promise.all([used(pid), used(ffmpeg.pid ?? 0)])
ffmpeg.kill()
print('ffmpeg -re -c copy, one file', other)
print('media process, one file', one)
apply(10, false)
print('media process, ten files', await used(pid))
apply(10, true)
print('media process, ten files, all recorded', await used(pid))
await host.close()
await rm(folder, { recursive: true, force: true })
