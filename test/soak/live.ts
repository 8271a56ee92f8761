/**
 * Live streams while every process and connection fails in turn: `npm run soak:live`.
 *
 * A node relays two streams to two destinations each, records both, and shows a slate when an encoder is away. `studio`
 * is published by WHIP and watched by WHEP; `stage` has two RTMP encoders. Phases: many viewers leave at once, every
 * process is killed and stopped in turn, a destination keeps its old session, the encoders start in either order, and a
 * rotated video fills an intermission. Each phase is measured at the destinations, and every reported status, in the
 * relay status and in events, is compared with what the destinations received. The limits are in `support/phases.ts`.
 * Exits with 1 when one is exceeded.
 *
 * MINUTES (10) or SECONDS set the duration, PHASES selects phases (`kill media,intermission`), and LOGS names a file for
 * the output of the node. Linux only.
 */
import { writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { Feed } from '../../media/testing/feed.ts'
import { makeClip, runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { headerVideoSize } from '../../media/rtmp/flv.ts'
import { WhepViewer } from '../../media/testing/whep-viewer.ts'
import { makeWhipMedia, tagBody } from '../../media/testing/whip-media.ts'
import { machine } from '../bench/support/process.ts'
import { waitFor } from '../support/wait.ts'
import { measure, Origins } from './support/arrivals.ts'
import { ClaimWatch } from './support/claims.ts'
import { RTMP_FRAME_MS, rtmpEncoder, whipEncoder } from './support/encoders.ts'
import { LiveStage, type ProcessName } from './support/live-stage.ts'
import { leastLive, leastRecorded, type PhaseName, type StreamName } from './support/phases.ts'
import { brokenBounds, tableHead, tableLine, type Row } from './support/results.ts'

const SECONDS = Number(process.env['SECONDS'] ?? Number(process.env['MINUTES'] ?? 10) * 60)
const ONLY = process.env['PHASES']?.split(',')
/** Concurrent viewers; a stream allows 32. */
const VIEWERS = 25
const PAUSED_MS = 8_000
const STALE_MS = 15_000
const RATES = { studio: 30, stage: 1_000 / RTMP_FRAME_MS }

interface Phase {
  readonly name: PhaseName
  /** Causes the fault. The phase then continues for the rest of its time. */
  readonly run: () => Promise<void>
}

const stage = await LiveStage.start()
const feeds: Feed[] = []
const studio = await stage.stream('studio', 2)
const hall = await stage.stream('stage', 2)
const streams: Record<StreamName, typeof studio> = { studio, stage: hall }
const port = () => stage.rtmpPort
const film = await makeWhipMedia({ kilobits: 800, group: 30 })
const presenter = whipEncoder(studio, film)
const primary = rtmpEncoder(port, hall.streamKey, feeds)
const backup = rtmpEncoder(port, hall.backupStreamKey, feeds)
const faults: string[] = []
// Exiting this way also ends the processes of the node, including stopped ones.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

async function makeRotatedVideo(): Promise<string> {
  const [plain, rotated] = [stage.path('plain.mp4'), stage.path('rotated.mp4')]
  await makeClip(plain, { seconds: 6, group: 30, size: '640x360' })
  await runFfmpeg('-i', plain, '-c', 'copy', '-metadata:s:v', 'rotate=90', rotated)
  return rotated
}

function signal(name: ProcessName | 'main', what: NodeJS.Signals): void {
  const pids = name === 'main' ? [stage.mainPid] : stage.pids(name)
  if (pids.length === 0) throw new Error(`there is no ${name} process`)
  for (const pid of pids) process.kill(pid, what)
}

/** Viewers join, receive frames, and leave all at once. */
async function viewersLeave(): Promise<void> {
  const { token, whepUrl } = await stage.call('POST /api/streams/{id}/preview-token', { path: { id: studio.id } })
  for (let round = 0; round < 4; round += 1) {
    const viewers = await Promise.all(Array.from({ length: VIEWERS }, () => watch(whepUrl, token)))
    await waitFor(() => viewers.every(({ packets }) => packets.video.length > 0), { timeoutMs: 60_000 })
    // The count is up to a second old: one from before they joined would look like one from after they left.
    const areCounted = async () => (await stage.relay(studio.id)).viewers === VIEWERS
    await waitFor(areCounted, { timeoutMs: 20_000, what: 'the viewers to be counted' })
    for (const viewer of viewers) viewer.close()
    const isEmpty = async () => (await stage.relay(studio.id)).viewers === 0
    await waitFor(isEmpty, { timeoutMs: 20_000, what: 'the viewers to be disconnected' })
  }
}

async function watch(url: string, token: string): Promise<WhepViewer> {
  const viewer = new WhepViewer()
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/sdp' }
  const response = await fetch(url, { method: 'POST', headers, body: await viewer.offer() })
  const answer = await response.text()
  if (response.status !== 201) throw new Error(`a viewer got the status ${response.status}: ${answer}`)
  viewer.accept(answer)
  return viewer
}

/** The media process is killed, and one destination keeps rejecting the key as already published. */
async function keepSessions(): Promise<void> {
  const sink = Object.values(hall.sinks)[0]!
  sink.behaviour.keepsSessions = true
  signal('media', 'SIGKILL')
  await delay(STALE_MS)
  sink.behaviour.keepsSessions = false
}

async function pause(name: 'main'): Promise<void> {
  signal(name, 'SIGSTOP')
  await delay(PAUSED_MS)
  signal(name, 'SIGCONT')
}

async function untilSource(source: string): Promise<void> {
  const isRelayed = async () => (await stage.relay(hall.id)).ingest?.source === source
  await waitFor(isRelayed, { timeoutMs: 20_000, what: `${source} to be relayed` })
}

/** The encoders stop and start in both orders. The primary is live whenever it is connected. */
async function encodersInAnyOrder(): Promise<void> {
  await primary.stop()
  await untilSource('backup')
  primary.start()
  await untilSource('primary')
  await backup.stop()
  await primary.stop()
  backup.start()
  await untilSource('backup')
  primary.start()
  await untilSource('primary')
}

/** The encoders stop, a video from a phone is shown, and the encoders return. */
async function intermission(assetId: string): Promise<void> {
  await Promise.all([primary.stop(), backup.stop()])
  const at = { path: { id: hall.id } }
  const isFree = async () => (await stage.relay(hall.id)).ingest === null
  await waitFor(isFree, { timeoutMs: 20_000, what: 'the encoders to be disconnected' })
  await stage.call('POST /api/streams/{id}/broadcast', { ...at, body: { assetId, loop: true } })
  await untilSource('file')
  // The size of the current media. Frames that the encoders sent before have another size.
  const isUpright = () =>
    Object.values(hall.sinks).every((sink) => {
      const size = sink.last()?.videoHeader && headerVideoSize(sink.last()!.videoHeader!, 'h264')
      return size != null && size.height > size.width
    })
  await waitFor(isUpright, { timeoutMs: 20_000, what: 'the video to be relayed upright' })
  const { height, width } = (await stage.relay(hall.id)).ingest
  console.log(`The rotated phone video is relayed with ${width}×${height}.`)
  primary.start()
  backup.start()
  await delay(3_000)
  await stage.call('DELETE /api/streams/{id}/broadcast', at)
  await untilSource('primary')
}

const rotated = ONLY?.includes('intermission') === false ? undefined : await stage.upload(await makeRotatedVideo())
// Rotating a file takes long on a busy machine, and no phase measures it.
if (rotated !== undefined) await stage.prepare(rotated)
const phases: readonly Phase[] = [
  { name: 'steady', run: async () => {} },
  { name: 'viewers leave', run: viewersLeave },
  { name: 'kill WHIP', run: async () => signal('whip', 'SIGKILL') },
  { name: 'stop WHIP', run: async () => signal('whip', 'SIGSTOP') },
  { name: 'kill ffmpeg', run: async () => signal('ffmpeg', 'SIGKILL') },
  { name: 'stop ffmpeg', run: async () => signal('ffmpeg', 'SIGSTOP') },
  { name: 'encoders', run: encodersInAnyOrder },
  { name: 'intermission', run: () => intermission(rotated!) },
  { name: 'kill media', run: async () => signal('media', 'SIGKILL') },
  { name: 'stop media', run: async () => signal('media', 'SIGSTOP') },
  { name: 'session kept', run: keepSessions },
  { name: 'stop main', run: () => pause('main') },
  { name: 'kill main', run: () => stage.restart() },
]

const rows: Row[] = []
const origins = new Origins(feeds)
const filmed = new Set(film.frames.map((nals) => crc32(tagBody(nals))))

/** Measures what the destinations received in a phase. Times are monotonic milliseconds. */
function look(phase: PhaseName, from: number, to: number): void {
  origins.update(RTMP_FRAME_MS)
  for (const name of ['studio', 'stage'] as const) {
    const rate = RATES[name]
    for (const [destination, sink] of Object.entries(streams[name].sinks)) {
      const seen = measure(sink, from, to, name === 'stage' ? origins : filmed)
      const missing = Math.round(((to - from) / 1_000) * rate - seen.frames)
      rows.push({ phase, stream: name, destination, missing, rate, ...seen })
    }
  }
}

console.log(`${machine()}, load ${loadavg()[0]?.toFixed(1)}\n`)
presenter.start()
primary.start()
backup.start()
for (const stream of Object.values(streams)) {
  await stage.untilLive(stream)
  // A slate can be shown only once it has been made.
  await stage.untilSlate(stream)
}
const events = await stage.listen(Object.values(streams))
const claims = new ClaimWatch(Object.values(streams), [
  { name: 'relay status', ask: ({ id }, within) => stage.relay(id, within) },
  events,
])
const chosen = phases.filter(({ name }) => ONLY?.includes(name) ?? true)
const shareMs = (SECONDS * 1_000) / chosen.length
const begun = performance.now()
console.log(tableHead())
for (const phase of chosen) {
  claims.phase = phase.name
  const from = performance.now()
  try {
    await phase.run()
    await delay(Math.max(0, from + shareMs - 10_000 - performance.now()))
    for (const stream of Object.values(streams)) await stage.untilLive(stream)
    await delay(Math.max(0, from + shareMs - performance.now()))
  } catch (error) {
    faults.push(`${phase.name}: ${(error as Error).message}`)
    // Whatever is still missing after a phase would be missing in all later phases.
    for (const encoder of [presenter, primary, backup]) encoder.start()
  }
  look(phase.name, from, performance.now())
  for (const row of rows.filter((one) => one.phase === phase.name)) {
    faults.push(...brokenBounds(row))
    console.log(tableLine(row, claims.contradictions))
  }
}
const took = (performance.now() - begun) / 1_000
await claims.stop()

interface Recording {
  readonly status: string
  readonly startedAt: string
  readonly duration: number | null
}

/** Ends the streams and checks the recordings. */
async function lookAtRecordings(): Promise<void> {
  const names = chosen.map(({ name }) => name)
  for (const name of ['studio', 'stage'] as const) {
    const at = { path: { id: streams[name].id } }
    await stage.call('POST /api/streams/{id}/stop', at)
    const kept = async () => {
      const [session] = await stage.call('GET /api/streams/{id}/sessions', at)
      const { recordings } = session as { recordings: Recording[] }
      return recordings.length > 0 && recordings.every(({ status }) => status !== 'recording') ? session : undefined
    }
    const session = await waitFor(kept, { timeoutMs: 60_000, what: `the recordings of ${name}` })
    const { liveSeconds, recordings } = session as { liveSeconds: number; recordings: Recording[] }
    const recorded = recordings.reduce((sum, { duration }) => sum + (duration ?? 0), 0)
    const least = { live: leastLive(name, names, took), recorded: leastRecorded(name, names, liveSeconds) }
    const figure = (value: number, bound: number) => `${Math.round(value)} s (at least ${Math.round(bound)} s)`
    console.log(
      `\n${name}: live for ${figure(liveSeconds, least.live)}, recorded ${figure(recorded, least.recorded)}, in files of ` +
        recordings.map(({ duration, startedAt }) => `${duration ?? 0} s from ${startedAt}`).join(', '),
    )
    for (const { status, startedAt } of recordings)
      if (status !== 'ready') faults.push(`${name}: the recording from ${startedAt} is ${status}`)
    if (liveSeconds < least.live) faults.push(`${name}: live for ${figure(liveSeconds, least.live)}`)
    if (recorded < least.recorded) faults.push(`${name}: recorded ${figure(recorded, least.recorded)}`)
  }
}

await Promise.all([presenter.stop(), primary.stop(), backup.stop()])
await lookAtRecordings().catch((error: unknown) => faults.push(`recordings: ${(error as Error).message}`))
console.log(`\n${claims.answers} statuses were compared. ${claims.unanswered} requests returned no status.`)
for (const { phase, times, what } of claims.contradictions) faults.push(`${phase}: ${what} (${times} times)`)
console.log(
  faults.length === 0
    ? 'All limits were kept.'
    : `\nExceeded limits:\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
)
console.log(`load at the end ${loadavg()[0]?.toFixed(1)}`)
if (process.env['LOGS']) await writeFile(process.env['LOGS'], stage.output)
await stage.close()
process.exit(faults.length === 0 ? 0 : 1)
