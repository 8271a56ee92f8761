import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { makeFlv, useFfmpeg } from '../testing/ffmpeg.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { hashOf, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink } from '../testing/sink.ts'
import type { PreferredInput } from '../types.ts'

const BACKUP = newKey('pathofthebackup')

let folder: string
let file: string
let ffmpeg: string
let scene: NodeWithSinks
let encoders: ChildProcess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-inputs-'))
  file = join(folder, 'source.flv')
  ;({ path: ffmpeg } = await useFfmpeg())
  await makeFlv(file, 4)
})
afterEach(async () => {
  for (const encoder of encoders.splice(0)) encoder.kill('SIGKILL')
  await scene.close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function start(preferredInput?: PreferredInput): Promise<void> {
  scene = await startNodeWithSinks([await startSink()])
  const backup = { path: 'pathofthebackup', keyHash: hashOf(BACKUP) }
  scene.change({ backup, ...(preferredInput && { preferredInput }) })
}

/** Starts an ffmpeg that publishes until it is killed. */
function encode(key: string): ChildProcess {
  const url = `rtmp://127.0.0.1:${scene.port}/live/${key}`
  const input = ['-nostdin', '-loglevel', 'quiet', '-re', '-stream_loop', '-1', '-i', file]
  const output = ['-c', 'copy', '-f', 'flv', '-flvflags', 'no_duration_filesize', url]
  const encoder = spawn(ffmpeg, [...input, ...output], { stdio: 'ignore' })
  encoders.push(encoder)
  return encoder
}

const status = () => scene.node.status().streams[0]!
const untilActive = (source: string) => waitFor(() => status().ingest?.source === source, { what: source })
const untilStandby = (source: string) => waitFor(() => status().standby?.source === source, { what: source })
const changes = () =>
  scene.events.flatMap((event) =>
    event.type === 'input.changed' ? [`${event.previous} ${event.source} ${event.reason}`] : [],
  )

/** Checks that there was one connection, on which timestamps never go back. */
function expectContinuous(): void {
  const [sink] = scene.sinks
  expect(sink!.connections).toHaveLength(1)
  const times = sink!
    .last()!
    .of('video')
    .map(({ timestamp }) => timestamp)
  expect(times).toEqual(times.toSorted((left, right) => left - right))
}

test('the preferred primary takes over when it connects, and again after a reconnect', async () => {
  await start({ source: 'primary', selected: false })
  encode(BACKUP)
  await untilActive('backup')
  await waitFor(() => scene.destination('d0').state === 'live')
  const primary = encode(scene.key)
  await untilActive('primary')
  await untilStandby('backup')
  primary.kill('SIGKILL')
  await untilActive('backup')
  encode(scene.key)
  await untilActive('primary')
  expect(changes()).toEqual(['backup primary preferred', 'primary backup ended', 'backup primary preferred'])
  expectContinuous()
})

test('without a preference the active encoder stays active', async () => {
  await start()
  encode(BACKUP)
  await untilActive('backup')
  encode(scene.key)
  await untilStandby('primary')
  const seen = status().standby!.bytesReceived
  await waitFor(() => status().standby!.bytesReceived > seen + 500_000)
  expect(status().ingest?.source).toBe('backup')
})

test('a selected encoder takes over at once, and again after a reconnect', async () => {
  await start({ source: 'primary', selected: false })
  encode(scene.key)
  await untilActive('primary')
  await waitFor(() => scene.destination('d0').state === 'live')
  const backup = encode(BACKUP)
  await untilStandby('backup')
  await waitFor(() => status().standby!.keyframeIntervalSeconds !== null)
  scene.change({ preferredInput: { source: 'backup', selected: true } })
  expect(status().ingest?.source).toBe('backup')
  backup.kill('SIGKILL')
  await untilActive('primary')
  encode(BACKUP)
  await untilActive('backup')
  expect(changes()).toEqual(['primary backup selected', 'backup primary ended', 'primary backup selected'])
  expectContinuous()
})

test('encoders that compete for one key are reported, and the fourth take-over is refused', async () => {
  await start()
  encode(scene.key)
  await untilActive('primary')
  for (let takeOver = 1; takeOver <= 3; takeOver++) {
    const { sessionId } = status().ingest!
    await waitFor(() => status().ingest!.bytesReceived > 20_000)
    encode(scene.key)
    await waitFor(() => status().ingest && status().ingest!.sessionId !== sessionId)
  }
  const { sessionId } = status().ingest!
  await waitFor(() => status().ingest!.warnings.some(({ code }) => code === 'key_contested'))
  const isReported = scene.events.some(
    (event) => event.type === 'warnings.changed' && event.raised.some(({ code }) => code === 'key_contested'),
  )
  expect(isReported).toBe(true)
  const refused = encode(scene.key)
  await waitFor(() => refused.exitCode !== null)
  expect(status().ingest?.sessionId).toBe(sessionId)
  await waitFor(() => scene.lines.some((line) => line.includes('Another encoder is sending with this key')))
  // The take-over is allowed when the active encoder sends nothing.
  encoders.findLast((one) => one.exitCode === null)?.kill('SIGSTOP')
  const hasTakenOver = () => {
    if (encoders.at(-1)!.exitCode !== null) encode(scene.key)
    return status().ingest !== null && status().ingest!.sessionId !== sessionId
  }
  await waitFor(hasTakenOver)
})
