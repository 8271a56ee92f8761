import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { headerVideoSize } from '../rtmp/flv.ts'
import { makeFlv, publishFlv, useFfmpeg } from '../testing/ffmpeg.ts'
import { startNode, destinationTo, type NodeFixture } from '../testing/node-fixture.ts'
import { startSink, type Sink } from '../testing/sink.ts'

let folder: string
let node: NodeFixture
let sinks: Sink[]
let publishing: Promise<unknown>

/** Five destinations: unchanged, two with the same portrait crop, one with a bitrate limit, one with a delay. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-rendering-'))
  await makeFlv(join(folder, 'clip.flv'), 40)
  sinks = await Promise.all(Array.from({ length: 5 }, () => startSink()))
  const renderings = [
    undefined,
    { crop: '9:16' },
    { crop: '9:16' },
    { maxBitrate: 400_000 },
    { delayMs: 1_500 },
  ] as const
  node = await startNode(
    sinks.map((sink, index) => ({
      ...destinationTo(sink, `d${index}`),
      ...(renderings[index] && { rendering: renderings[index] }),
    })),
    { stallMs: 20_000 },
    { whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() } },
  )
  publishing = publishFlv(join(folder, 'clip.flv'), `rtmp://127.0.0.1:${node.port}/live/${node.key}`).catch(() => {})
})
afterAll(async () => {
  await node?.node.close()
  for (const sink of sinks ?? []) await sink.close()
  await publishing
  await rm(folder, { recursive: true, force: true })
})

/** Ids of our child processes whose command line contains `option`. */
function encoders(option: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const isOurs = Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === process.pid
        return isOurs && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(option)
      } catch {
        return false
      }
    })
}

const frames = (sink: Sink) => sink.messages('video').filter(({ isSequenceHeader }) => !isSequenceHeader)
const sizeOf = (sink: Sink) => headerVideoSize(sink.last()!.videoHeader!, 'h264')
const status = (id: string) => node.node.status().streams[0]!.destinations.find((one) => one.id === id)!

test('each destination gets its rendering, and equal renderings share one encoder', async () => {
  await waitFor(() => sinks.every((sink) => frames(sink).length > 30), {
    what: 'video at all destinations',
  })
  const [unchanged, portrait, samePortrait, limited, delayed] = sinks as [Sink, Sink, Sink, Sink, Sink]
  expect(sizeOf(unchanged)).toEqual({ width: 640, height: 360 })
  expect(sizeOf(portrait)).toEqual({ width: 202, height: 360 })
  expect(sizeOf(samePortrait)).toEqual({ width: 202, height: 360 })
  expect(sizeOf(limited)).toEqual({ width: 640, height: 360 })
  expect(encoders('crop=')).toHaveLength(1)
  expect(status('d1').rendering).toMatchObject({ state: 'running', restarts: 0, lastError: null })
  expect(status('d0').rendering).toBeNull()
  const speed = await waitFor(() => status('d1').rendering?.speed, { what: 'a measured speed' })
  // How fast it is depends on the machine.
  expect(speed).toBeGreaterThan(0.01)
  expect(speed).toBeLessThan(100)
  // Audio is copied.
  const audioSums = new Set(unchanged.messages('audio').map(({ checksum }) => checksum))
  expect(portrait.messages('audio').length).toBeGreaterThan(20)
  expect(portrait.messages('audio').every(({ checksum }) => audioSums.has(checksum))).toBe(true)
  const seen = new Map(unchanged.messages('video').map(({ at, checksum }) => [checksum, at]))
  const delays = frames(delayed).flatMap(({ at, checksum }) => (seen.has(checksum) ? [at - seen.get(checksum)!] : []))
  expect(delays.length).toBeGreaterThan(20)
  // Most of them, because a frame can arrive late where it is not delayed.
  expect(delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)]).toBeGreaterThan(1_200)
})

test('a killed encoder is restarted on the same connections and does not disturb other destinations', async () => {
  const [unchanged, portrait] = sinks as [Sink, Sink]
  const [pid] = encoders('crop=')
  const before = frames(portrait).length
  process.kill(pid!, 'SIGKILL')
  await waitFor(() => status('d1').rendering?.restarts === 1)
  await waitFor(() => frames(portrait).length > before + 30, {
    what: 'video from the restarted encoder',
  })
  expect(status('d1').rendering).toMatchObject({ state: 'running' })
  for (const sink of sinks) expect(sink.connections).toHaveLength(1)
  const times = frames(unchanged).map(({ timestamp }) => timestamp)
  expect(times.every((time, index) => index === 0 || time - times[index - 1]! <= 40)).toBe(true)
  const messages = portrait.messages().map(({ kind, timestamp }) => [kind, timestamp] as const)
  for (const kind of ['audio', 'video']) {
    const track = messages.flatMap(([one, timestamp]) => (one === kind ? [timestamp] : []))
    expect(track.every((time, index) => index === 0 || time >= track[index - 1]!)).toBe(true)
  }
})

test('the encoder stops when no destination uses its rendering', async () => {
  node.change({ destinations: node.stream.destinations.filter(({ id }) => id === 'd0' || id === 'd4') })
  await waitFor(() => encoders('libx264').length === 0)
  node.change({ live: false })
  node.node.remove('stream-1')
})
