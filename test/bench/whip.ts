/**
 * The cost of WHIP compared with RTMP: `npm run bench:whip`.
 *
 * The same film (720p30, 3 Mbit/s) is published by RTMP and by WHIP in turn, to one RTMP sink. Both clients and the sink
 * run in this process, separate from the media process and its WHIP process. Reports for each: milliseconds from writing a
 * frame to the socket to its complete arrival at the sink, CPU of the media process and of the WHIP process, memory.
 * Nothing is asserted. `SECONDS` and `ROUNDS` set the length. Linux only.
 */
import { loadavg } from 'node:os'
import { crc32 } from 'node:zlib'
import { aacFrame, aacHeader, avcHeader } from '../../media/testing/media-payloads.ts'
import { TestPublisher } from '../../media/testing/publisher.ts'
import { startSink, type Sink } from '../../media/testing/sink.ts'
import { WhipClient } from '../../media/testing/whip-client.ts'
import { startWhipHost, type WhipHost } from '../../media/testing/whip-host.ts'
import { makeWhipMedia, tagBody, type WhipMedia } from '../../media/testing/whip-media.ts'
import { waitFor } from '../support/wait.ts'
import { machine, residentBytes, scheduledSeconds } from './support/process.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 12)
const ROUNDS = Number(process.env['ROUNDS'] ?? 2)
/** The start is not counted, because of connection setup and compilation. */
const WARM_UP_MS = 2_000
/** The least share of expected frames that both protocols must deliver. */
const MIN_SHARE = 0.95

interface Sent {
  readonly checksum: number
  readonly at: number
}

const pause = (ms: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

function percentile(values: readonly number[], part: number): string {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[Math.floor(sorted.length * part)] ?? Number.NaN).toFixed(2)
}

/** Matches each frame at the sink with the latest identical one sent before it. */
function latencies(sent: readonly Sent[], sink: Sink): number[] {
  return sink.messages('video').flatMap(({ at, checksum, isSequenceHeader }) => {
    const source = isSequenceHeader ? undefined : sent.findLast((one) => one.checksum === checksum && one.at <= at)
    return source === undefined ? [] : [at - source.at]
  })
}

async function byRtmp(media: WhipMedia, { key, rtmpPort }: WhipHost, sent: Sent[]): Promise<() => Promise<void>> {
  const publisher = await TestPublisher.connect({ port: rtmpPort })
  await publisher.publish(key)
  publisher.setChunkSize(65_536)
  publisher.video(0, avcHeader())
  publisher.audio(0, aacHeader())
  const bodies = media.frames.map(tagBody)
  const startedAt = performance.now()
  let count = 0
  const timer = setInterval(() => {
    while ((count * 1_000) / media.framesPerSecond <= performance.now() - startedAt) {
      const body = bodies[count % bodies.length]!
      sent.push({ checksum: crc32(body), at: performance.now() })
      publisher.video(Math.round((count * 1_000) / media.framesPerSecond), body)
      publisher.audio(Math.round((count * 1_000) / media.framesPerSecond), aacFrame(340))
      count += 1
    }
  }, 5)
  return async () => {
    clearInterval(timer)
    publisher.close()
  }
}

async function byWhip(media: WhipMedia, host: WhipHost, sent: Sent[]): Promise<() => Promise<void>> {
  const client = new WhipClient({ media, onFrame: (nals, at) => sent.push({ checksum: crc32(tagBody(nals)), at }) })
  const session = await host.open(client)
  return async () => {
    await host.end(session)
    client.close()
  }
}

async function measure(name: string, media: WhipMedia, publish: typeof byWhip): Promise<string> {
  const sink = await startSink()
  const host = await startWhipHost(sink)
  const sent: Sent[] = []
  const stop = await publish(media, host, sent)
  await waitFor(() => sink.messages('video').length > 10, { timeoutMs: 20_000 })
  await pause(WARM_UP_MS)
  const media0 = host.host.pid()!
  const { whip } = await host.host.status()
  const pids = [media0, ...(whip?.pid ? [whip.pid] : [])]
  const before = pids.map(scheduledSeconds)
  for (const connection of sink.connections) connection.messages.length = 0
  await pause(SECONDS * 1_000)
  const cpu = pids.map((pid, index) => ((scheduledSeconds(pid) - before[index]!) / SECONDS) * 100)
  const memory = pids.map((pid) => residentBytes(pid) / 1024 / 1024)
  const all = latencies(sent, sink)
  await stop()
  const due = SECONDS * media.framesPerSecond
  if (all.length < due * MIN_SHARE)
    throw new Error(`${name}: ${all.length} of ${due} frames arrived, so there are no figures`)
  await host.host.close()
  await sink.close()
  const figures = [percentile(all, 0.5), percentile(all, 0.95), percentile(all, 0.99)].join(' / ')
  const each = (values: readonly number[], unit: string) =>
    values.map((value) => `${value.toFixed(1)} ${unit}`).join(' + ')
  return `| ${name} | ${all.length} | ${figures} | ${each(cpu, '%')} | ${each(memory, 'MB')} |`
}

console.log(`${machine()}, load ${loadavg()[0]?.toFixed(1)}\n`)
console.log('| protocol | frames | added latency p50 / p95 / p99, ms | CPU, % of a core: media + WHIP | resident |')
console.log('|---|---|---|---|---|')
const film = await makeWhipMedia({ size: '1280x720', kilobits: 3_000, group: 60, seconds: 4 })
for (let round = 0; round < ROUNDS; round += 1) {
  console.log(await measure('RTMP', film, byRtmp))
  console.log(await measure('WHIP', film, byWhip))
}
console.log(`\nload at the end ${loadavg()[0]?.toFixed(1)}`)
process.exit(0)
