import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { headerPictureSize } from '../rtmp/flv.ts'
import { makeFlv, publishFlv, useFfmpeg } from '../testing/ffmpeg.ts'
import { startNode, towards, type NodeFixture } from '../testing/node-fixture.ts'
import { startSink, type Sink } from '../testing/sink.ts'

let folder: string
let node: NodeFixture
let sinks: Sink[]
let publishing: Promise<unknown>

/** A copy, two that want the same upright picture, one with a cap, and one that comes late. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-rendering-'))
  await makeFlv(join(folder, 'clip.flv'), 40)
  sinks = await Promise.all(Array.from({ length: 5 }, () => startSink()))
  const forms = [undefined, { crop: '9:16' }, { crop: '9:16' }, { maxBitrate: 400_000 }, { delayMs: 1_500 }] as const
  node = await startNode(
    sinks.map((sink, index) => ({ ...towards(sink, `d${index}`), ...(forms[index] && { rendering: forms[index] }) })),
    { stallMs: 20_000 },
    { whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() } },
  )
  publishing = publishFlv(join(folder, 'clip.flv'), `rtmp://127.0.0.1:${node.port}/live/${node.key}`).catch(() => {})
}, 90_000)
afterAll(async () => {
  await node?.node.close()
  for (const sink of sinks ?? []) await sink.close()
  await publishing
  await rm(folder, { recursive: true, force: true })
})

/** Processes of ours that render. */
function renderers(option: string): number[] {
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

const pictures = (sink: Sink) => sink.messages('video').filter(({ isHeader }) => !isHeader)
const sizeOf = (sink: Sink) => headerPictureSize(sink.last()!.videoHeader!, 'h264')
const status = (id: string) => node.node.status().streams[0]!.destinations.find((one) => one.id === id)!

test('each destination gets its form; those that want the same share one encoder', async () => {
  await waitFor(() => sinks.every((sink) => pictures(sink).length > 30), { timeoutMs: 40_000, what: 'all forms' })
  const [copy, upright, same, capped, late] = sinks as [Sink, Sink, Sink, Sink, Sink]
  expect(sizeOf(copy)).toEqual({ width: 640, height: 360 })
  expect(sizeOf(upright)).toEqual({ width: 202, height: 360 })
  expect(sizeOf(same)).toEqual({ width: 202, height: 360 })
  expect(sizeOf(capped)).toEqual({ width: 640, height: 360 })
  expect(renderers('crop=')).toHaveLength(1)
  expect(status('d1').rendering).toMatchObject({ state: 'running', restarts: 0, lastError: null })
  expect(status('d0').rendering).toBeNull()
  const speed = await waitFor(() => status('d1').rendering?.speed, { timeoutMs: 15_000, what: 'its speed' })
  expect(speed).toBeGreaterThan(0.2)
  expect(speed).toBeLessThan(5)
  // Sound goes along as it is, with the picture.
  const sounds = new Set(copy.messages('audio').map(({ checksum }) => checksum))
  expect(upright.messages('audio').length).toBeGreaterThan(20)
  expect(upright.messages('audio').every(({ checksum }) => sounds.has(checksum))).toBe(true)
  const seen = new Map(copy.messages('video').map(({ at, checksum }) => [checksum, at]))
  const delays = pictures(late).flatMap(({ at, checksum }) => (seen.has(checksum) ? [at - seen.get(checksum)!] : []))
  expect(delays.length).toBeGreaterThan(20)
  expect(Math.min(...delays)).toBeGreaterThan(1_200)
})

test('the death of an encoder disturbs no copy, and it is back on the same connection', async () => {
  const [copy, upright] = sinks as [Sink, Sink]
  const [pid] = renderers('crop=')
  const before = pictures(upright).length
  process.kill(pid!, 'SIGKILL')
  await waitFor(() => status('d1').rendering?.restarts === 1)
  await waitFor(() => pictures(upright).length > before + 30, { timeoutMs: 30_000, what: 'pictures again' })
  expect(status('d1').rendering).toMatchObject({ state: 'running' })
  for (const sink of sinks) expect(sink.connections).toHaveLength(1)
  const times = pictures(copy).map(({ timestamp }) => timestamp)
  expect(times.every((time, index) => index === 0 || time - times[index - 1]! <= 40)).toBe(true)
  const ours = upright.messages().map(({ kind, timestamp }) => [kind, timestamp] as const)
  for (const kind of ['audio', 'video']) {
    const line = ours.flatMap(([one, timestamp]) => (one === kind ? [timestamp] : []))
    expect(line.every((time, index) => index === 0 || time >= line[index - 1]!)).toBe(true)
  }
})

test('what nobody wants any more is not rendered', async () => {
  node.change({ destinations: node.stream.destinations.filter(({ id }) => id === 'd0' || id === 'd4') })
  await waitFor(() => renderers('libx264').length === 0)
  node.change({ live: false })
  node.node.remove('stream-1')
})
