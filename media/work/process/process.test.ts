import { fork } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { processorsIn } from './priority.ts'
import { waitFor } from '../../../test/support/wait.ts'
import { runFfmpeg } from '../../testing/ffmpeg.ts'
import { filesIn, processesOn, useMediaWork } from '../../testing/work-fixture.ts'
import type { MediaWork } from '../types.ts'

const limits = { quickConcurrency: 2, longConcurrency: 1, longQueue: 1 }
const { work, folder, logged, tempDir } = useMediaWork({ limits })
const path = (name: string) => join(folder, name)
const sizes = [{ name: 'only', edge: 64 }]

beforeAll(async () => {
  const small = [
    '-f',
    'lavfi',
    '-i',
    'testsrc=size=320x180:rate=25:duration=1',
    '-c:v',
    'libx264',
    '-pix_fmt',
    'yuv420p',
  ]
  await runFfmpeg(...small, '-f', 'mp4', path('short'))
  // Two minutes that take long to encode on any machine: ten seconds, repeated twelve times.
  const moving = ['-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=25:duration=10', '-c:v', 'libx264']
  await runFfmpeg(...moving, '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-f', 'mp4', path('part'))
  await runFfmpeg('-stream_loop', '11', '-i', path('part'), '-c', 'copy', '-f', 'mp4', path('long'))
  // Decoding a progressive JPEG of this size takes a while, and of noise long enough to be interrupted on any machine.
  await sharp({ create: { width: 6000, height: 4000, channels: 3, background: '#f80' } })
    .jpeg({ progressive: true })
    .toFile(path('image'))
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const
  await sharp({ create: { width: 6000, height: 4000, channels: 3, background: '#f80', noise } })
    .jpeg({ progressive: true, quality: 95 })
    .toFile(path('noise'))
  await sharp({ create: { width: 8, height: 8, channels: 3, background: '#f80' } })
    .png()
    .toFile(path('small'))
  mkdirSync(path('out'))
})

const makeThumbnail = (of: MediaWork = work) => of.thumbnails(path('image'), path('out'), { sizes })
const encode = (options: Parameters<MediaWork['transcode']>[3] = {}, of: MediaWork = work) =>
  of.transcode(path('long'), path('encoded'), { kind: 'video' }, options)
const ffmpegs = () => processesOn(folder).filter((pid) => isFfmpeg(pid))
/** ffmpeg processes that encode. Unlike ffprobe, they run until they are killed. */
const encoders = () => processesOn(folder).filter((pid) => isFfmpeg(pid, /^ffmpeg$/))
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )

function isFfmpeg(pid: number, name = /^ff(?:mpeg|probe)$/): boolean {
  try {
    return name.test(readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
  } catch {
    return false
  }
}

async function expectNothingLeft(): Promise<void> {
  await waitFor(() => ffmpegs().length === 0, { what: 'all ffmpeg processes to end' })
  expect(filesIn(tempDir)).toEqual([])
  expect(filesIn(folder).filter((name) => name.includes('encoded'))).toEqual([])
}

test('starts one process per lane with the first job, and ends it when idle', async () => {
  const { work: lazy } = useMediaWork({ limits: { idleSeconds: 0.2 } })
  const pids = () => [...lazy.stats().quick.pids, ...lazy.stats().long.pids]
  expect(pids()).toEqual([])
  await lazy.probe(path('small'))
  await lazy.transcode(path('short'), path('short-again'), { kind: 'video' })
  expect(pids()).not.toContain(process.pid)
  await waitFor(() => pids().length === 0, { what: 'the processes to end' })
  await lazy.probe(path('small'))
  expect(lazy.stats().quick).toMatchObject({ done: 2, failed: 0, deaths: 0 })
})

/** sched(7). */
const SCHED_OTHER = 0
const SCHED_IDLE = 5

/** The scheduling policy of a thread: field 41 of proc_pid_stat(5). */
function policyOf(thread: number): number {
  const [, rest = ''] = readFileSync(`/proc/${thread}/stat`, 'utf8').split(') ')
  return Number(rest.split(' ')[38])
}

test('lowers the priority of its threads, its children and its scheduler group', async () => {
  const { work: polite } = useMediaWork({ niceness: 3 })
  const controller = new AbortController()
  const running = failure(encode({ signal: controller.signal }, polite))
  const encoder = await waitFor(() => encoders()[0], { what: 'ffmpeg to run' })
  const [pid = 0] = polite.stats().long.pids
  for (const thread of readdirSync(`/proc/${pid}/task`)) expect(getPriority(Number(thread))).toBe(3)
  expect(getPriority(encoder)).toBe(3)
  const group = `/proc/${encoder}/autogroup`
  if (existsSync(group)) await waitFor(() => readFileSync(group, 'utf8').includes('nice 3'), { what: 'the group' })
  expect(policyOf(encoder)).toBe(SCHED_OTHER)
  controller.abort()
  expect(await running).toBe('cancelled')
  await expectNothingLeft()
})

test('runs only when a processor is idle, with the lowest priority', async () => {
  const { work: polite } = useMediaWork({ niceness: 19 })
  await polite.probe(path('small'))
  const [pid = 0] = polite.stats().quick.pids
  for (const thread of readdirSync(`/proc/${pid}/task`)) expect(policyOf(Number(thread))).toBe(SCHED_IDLE)
})

/** The processors on which a process or thread may run. */
function allowed(id: number | string): number[] {
  const [, list = ''] = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync(`/proc/${id}/status`, 'utf8')) ?? []
  return processorsIn(list)
}

test('leaves one processor to others, with the lowest priority', async () => {
  const all = allowed('self')
  const { work: polite } = useMediaWork({ niceness: 19 })
  const controller = new AbortController()
  const running = failure(encode({ signal: controller.signal }, polite))
  const encoder = await waitFor(() => encoders()[0], { what: 'ffmpeg to run' })
  expect(allowed(encoder)).toEqual(all.length > 1 ? all.slice(1) : all)
  const [pid = 0] = polite.stats().long.pids
  for (const thread of readdirSync(`/proc/${pid}/task`)) expect(allowed(thread)).toEqual(allowed(encoder))
  controller.abort()
  expect(await running).toBe('cancelled')
  await expectNothingLeft()
})

test.each([
  ['0', [0]],
  ['0-3,8', [0, 1, 2, 3, 8]],
  ['2,4-5', [2, 4, 5]],
  ['', []],
])('reads the list of processors "%s"', (list, processors) => {
  expect(processorsIn(list)).toEqual(processors)
})

describe('cancels a job', () => {
  test('before it is queued, and while it is queued', async () => {
    await expect(makeCancellableThumbnail(AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' })
    const first = new AbortController()
    const running = failure(encode({ signal: first.signal }))
    const second = new AbortController()
    const waiting = failure(encode({ signal: second.signal }))
    expect(work.stats().long).toMatchObject({ running: 1, queued: 1 })
    // The queue is full.
    await expect(encode()).rejects.toMatchObject({ code: 'busy', retryable: true })
    second.abort()
    expect(await waiting).toBe('cancelled')
    expect(work.stats().long).toMatchObject({ running: 1, queued: 0, refused: 1 })
    first.abort()
    expect(await running).toBe('cancelled')
    await expectNothingLeft()
  })

  test('while ffmpeg runs: ffmpeg has ended when the call returns, and thumbnails do not wait for it', async () => {
    const controller = new AbortController()
    let fraction = 0
    const options = {
      signal: controller.signal,
      onProgress: (progress: { fraction: number }) => (fraction = progress.fraction),
    }
    const running = failure(encode(options))
    await waitFor(() => fraction > 0, { what: 'progress' })
    expect(ffmpegs()).toHaveLength(1)
    expect(await makeThumbnail()).toMatchObject({ kind: 'image' })
    expect(work.stats().long.running).toBe(1)
    controller.abort()
    expect(await running).toBe('cancelled')
    expect(ffmpegs()).toEqual([])
    await expectNothingLeft()
  })

  test('while an image is decoded', async () => {
    const controller = new AbortController()
    const running = failure(makeCancellableThumbnail(controller.signal))
    await waitFor(() => work.stats().quick.running === 1)
    controller.abort()
    expect(await running).toBe('cancelled')
    await expectNothingLeft()
  })

  function makeCancellableThumbnail(signal: AbortSignal) {
    return work.thumbnails(path('noise'), path('out'), { sizes, signal })
  }
})

test('runs jobs of higher priority first', async () => {
  const { work: one } = useMediaWork({ limits: { quickConcurrency: 1 } })
  const order: string[] = []
  const ask = async (name: string, priority: number) => {
    await one.probe(path('small'), { priority })
    order.push(name)
  }
  await Promise.all([ask('first', 0), ask('second', 0), ask('third', 0), ask('urgent', 5), ask('last', -1)])
  expect(order).toEqual(['first', 'urgent', 'second', 'third', 'last'])
})

describe('enforces the limit on', () => {
  test('time', async () => {
    const { work: hasty } = useMediaWork({ limits: { longSeconds: 1 } })
    await expect(encode({}, hasty)).rejects.toMatchObject({ code: 'timed_out', retryable: false })
    await expectNothingLeft()
  })

  test('memory of ffmpeg', async () => {
    const { work: poor } = useMediaWork({ limits: { ffmpegBytes: 60_000_000 } })
    await expect(encode({}, poor)).rejects.toMatchObject({ code: 'memory_limit' })
    await expectNothingLeft()
  })

  test('memory of the work process', async () => {
    const { work: small } = useMediaWork({ limits: { processBytes: 20_000_000 } })
    await expect(encode({}, small)).rejects.toMatchObject({ code: 'memory_limit' })
    // The shared process and the separate one. The file does not count as hostile.
    expect(small.stats().long.deaths).toBe(2)
    await expectNothingLeft()
  })

  test('bytes of the output', async () => {
    const { work: thrifty } = useMediaWork({ limits: { outputBytes: 50_000 } })
    await expect(encode({}, thrifty)).rejects.toMatchObject({ code: 'output_too_large' })
    await expectNothingLeft()
  })
})

describe('when a process dies', () => {
  const kill = (lane: 'quick' | 'long') => {
    for (const pid of work.stats()[lane].pids) process.kill(pid, 'SIGKILL')
  }

  test('retries each of its jobs in a separate process', async () => {
    const before = work.stats().quick
    const running = [
      makeThumbnail(),
      work.thumbnails(path('short'), path('out'), { sizes: [{ name: 'other', edge: 64 }] }),
    ]
    await waitFor(() => work.stats().quick.pids.length > 0)
    kill('quick')
    expect(await Promise.all(running)).toHaveLength(2)
    const { deaths, failed } = work.stats().quick
    expect({ deaths: deaths - before.deaths, failed: failed - before.failed }).toEqual({ deaths: 1, failed: 0 })
    expect(filesIn(tempDir)).toEqual([])
  })

  test('kills its ffmpeg', async () => {
    const controller = new AbortController()
    const running = failure(encode({ signal: controller.signal }))
    const orphan = await waitFor(() => encoders()[0])
    kill('long')
    await waitFor(() => encoders().some((pid) => pid !== orphan), { what: 'the second attempt' })
    // The encode itself would take much longer.
    await waitFor(() => !isFfmpeg(orphan), { what: 'the ffmpeg of the dead process to end' })
    controller.abort()
    expect(await running).toBe('cancelled')
    await expectNothingLeft()
  })

  test('twice with the same file, refuses that file from then on, but not others', async () => {
    const running = failure(makeThumbnail())
    let over = false
    void running.finally(() => (over = true))
    await waitFor(() => {
      kill('quick')
      return over
    })
    expect(await running).toBe('hostile')
    expect(logged.some((line) => line.includes('separate process'))).toBe(true)
    const { deaths } = work.stats().quick
    await expect(makeThumbnail()).rejects.toMatchObject({ code: 'hostile', retryable: false })
    expect(await work.probe(path('short'))).toMatchObject({ kind: 'video' })
    expect(work.stats().quick.deaths).toBe(deaths)
  })

  test('because its host is killed, leaves no process and no file', async () => {
    const host = fileURLToPath(new URL('../../testing/work-host.ts', import.meta.url))
    const child = fork(host, [tempDir, path('long'), path('encoded')], { stdio: 'ignore' })
    await waitFor(() => encoders().length > 0, { what: 'ffmpeg to run' })
    child.kill('SIGKILL')
    await waitFor(() => ffmpegs().length === 0, { what: 'ffmpeg to end' })
    await waitFor(() => processesOn(tempDir).length === 0)
    // The folder of the fixture's own media work remains.
    await waitFor(() => readdirSync(tempDir).length === 1, {
      what: 'the folder of the dead host to be deleted',
    })
  })
})

test('fails its jobs when closed, and leaves nothing', async () => {
  const { work: closing, tempDir: own } = useMediaWork({ limits })
  const jobs = [encode({}, closing), encode({}, closing), makeThumbnail(closing)].map(failure)
  await waitFor(() => ffmpegs().length > 0)
  await closing.close()
  expect(await Promise.all(jobs)).toEqual(['unavailable', 'unavailable', expect.stringMatching(/unavailable|done/)])
  await expect(closing.probe(path('short'))).rejects.toMatchObject({ code: 'unavailable' })
  await expectNothingLeft()
  expect(filesIn(own)).toEqual([])
})
