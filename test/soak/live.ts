/**
 * Broadcasts while everything on the way fails: `npm run soak:live`.
 *
 * A node as its user starts it relays two streams to two destinations each, records both, and shows a slate when an
 * encoder is away. `studio` comes by WHIP and is watched by WHEP; `stage` has two RTMP encoders. Phases: viewers leave
 * by the score, every process is killed and stopped in turn, a destination keeps its old session, the encoders start
 * in either order, and a rotated video fills an intermission. Each phase is measured at the destinations, and every
 * status that is told is compared with what they had. Ends with 1 when a bound does not hold.
 *
 * MINUTES (10) or SECONDS change how long it takes. PHASES names some of them (`kill media,intermission`). Linux only.
 */
import { writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Feed } from '../../media/testing/feed.ts'
import { makeClip, runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { WhepViewer } from '../../media/testing/whep-viewer.ts'
import { makeWhipMedia } from '../../media/testing/whip-media.ts'
import { machine } from '../bench/support/process.ts'
import { waitFor } from '../support/wait.ts'
import { measure, Origins, type Arrivals } from './support/arrivals.ts'
import { ClaimWatch } from './support/claims.ts'
import { RTMP_FRAME_MS, rtmpEncoder, whipEncoder } from './support/encoders.ts'
import { LiveStage, type ProcessName } from './support/live-stage.ts'

const SECONDS = Number(process.env['SECONDS'] ?? Number(process.env['MINUTES'] ?? 10) * 60)
const ONLY = process.env['PHASES']?.split(',')
/** Viewers at once: a stream takes 32. */
const VIEWERS = 25
const PAUSED_MS = 8_000
const STALE_MS = 15_000
/** Farthest that sound may be from pictures: a slate or transcoded sound comes in its own rhythm. */
const MOST_APART_MS = { studio: 1_000, stage: 50 }

/**
 * How much longer than pictures sound may be away: an ffmpeg codes it again, is taken to hang after 10 s without output,
 * and is then started again.
 */
const SOUND_LATER_MS = 12_000

interface Phase {
  readonly name: string
  /** Brings the fault about. The phase goes on afterwards for as long as its share of the time. */
  readonly run: () => Promise<void>
  /**
   * Longest time without a picture at any destination of a stream, seconds.
   *
   * 3 where nothing on the way fails, or where a slate covers it (1.5 s of silence, then the slate); 15 where the media
   * process starts again (5 s until it is taken to hang, the start, and an encoder that tries once a second); 30 where
   * the whole node starts again.
   */
  readonly gap: { readonly studio: number; readonly stage: number }
}

const stage = await LiveStage.start()
const feeds: Feed[] = []
const studio = await stage.stream('studio', 2)
const hall = await stage.stream('stage', 2)
const streams = { studio, stage: hall }
const port = () => stage.rtmpPort
const presenter = whipEncoder(studio, await makeWhipMedia({ kilobits: 800, group: 30 }))
const primary = rtmpEncoder(port, hall.streamKey, feeds)
const backup = rtmpEncoder(port, hall.backupStreamKey, feeds)
const faults: string[] = []
// Ending this way ends the processes of the node too, those that are stopped included.
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

/** Viewers come, have pictures, and leave all at once, in the middle of them. */
async function viewersLeave(): Promise<void> {
  const { token, whepUrl } = await stage.call('POST /api/streams/{id}/preview-token', { path: { id: studio.id } })
  for (let round = 0; round < 4; round += 1) {
    const viewers = await Promise.all(Array.from({ length: VIEWERS }, () => watch(whepUrl, token)))
    await waitFor(() => viewers.every(({ packets }) => packets.video.length > 0), { timeoutMs: 20_000 })
    for (const viewer of viewers) viewer.close()
    const isEmpty = async () =>
      (await stage.call('GET /api/streams/{id}/relay', { path: { id: studio.id } })).viewers === 0
    await waitFor(isEmpty, { timeoutMs: 20_000, what: 'the viewers to be gone' })
  }
}

async function watch(url: string, token: string): Promise<WhepViewer> {
  const viewer = new WhepViewer()
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/sdp' }
  const response = await fetch(url, { method: 'POST', headers, body: await viewer.offer() })
  const answer = await response.text()
  if (response.status !== 201) throw new Error(`a viewer was answered ${response.status}: ${answer}`)
  viewer.accept(answer)
  return viewer
}

/** The media process is killed, and one destination goes on refusing the key as published already. */
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
  const isOnAir = async () =>
    (await stage.call('GET /api/streams/{id}/relay', { path: { id: hall.id } })).ingest?.source === source
  await waitFor(isOnAir, { timeoutMs: 20_000, what: `${source} to be on the air` })
}

/** The encoders go and come in both orders. The primary is on the air whenever it is there. */
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

/** The encoders leave, a phone's video is shown, and they come back. */
async function intermission(assetId: string): Promise<void> {
  await Promise.all([primary.stop(), backup.stop()])
  const at = { path: { id: hall.id } }
  const isFree = async () => (await stage.call('GET /api/streams/{id}/relay', at)).ingest === null
  await waitFor(isFree, { timeoutMs: 20_000, what: 'the encoders to be gone' })
  await stage.call('POST /api/streams/{id}/broadcast', { ...at, body: { assetId, loop: true } })
  await waitFor(async () => (await stage.call('GET /api/streams/{id}/relay', at)).ingest?.source === 'file', {
    timeoutMs: 60_000,
    what: 'the file to be on the air',
  })
  const size = async () => {
    const { ingest } = await stage.call('GET /api/streams/{id}/relay', at)
    return ingest?.width ? (ingest as { width: number; height: number }) : undefined
  }
  const { height, width } = await waitFor(size, { timeoutMs: 20_000, what: 'the size of the file' })
  if (width >= height) faults.push(`intermission: a portrait video went out ${width}×${height}`)
  primary.start()
  backup.start()
  await delay(3_000)
  await stage.call('DELETE /api/streams/{id}/broadcast', at)
  await untilSource('primary')
}

// A busy machine takes its time to look at the file: the other phases need not wait.
const rotated = stage.upload(await makeRotatedVideo())
rotated.catch(() => {})
const steady = { studio: 3, stage: 3 }
const restarted = { studio: 15, stage: 15 }
const phases: readonly Phase[] = [
  { name: 'steady', run: async () => {}, gap: steady },
  { name: 'viewers leave', run: viewersLeave, gap: steady },
  { name: 'kill WHIP', run: async () => signal('whip', 'SIGKILL'), gap: steady },
  { name: 'stop WHIP', run: async () => signal('whip', 'SIGSTOP'), gap: steady },
  { name: 'kill ffmpeg', run: async () => signal('ffmpeg', 'SIGKILL'), gap: steady },
  { name: 'stop ffmpeg', run: async () => signal('ffmpeg', 'SIGSTOP'), gap: steady },
  { name: 'encoders', run: encodersInAnyOrder, gap: steady },
  { name: 'intermission', run: async () => intermission(await rotated), gap: steady },
  { name: 'kill media', run: async () => signal('media', 'SIGKILL'), gap: restarted },
  { name: 'stop media', run: async () => signal('media', 'SIGSTOP'), gap: restarted },
  // The refusals are repeated after 10 s and 20 s more.
  { name: 'session kept', run: keepSessions, gap: { studio: 15, stage: 40 } },
  { name: 'stop main', run: () => pause('main'), gap: steady },
  { name: 'kill main', run: () => stage.restart(), gap: { studio: 30, stage: 30 } },
]

interface Row extends Arrivals {
  readonly phase: string
  readonly destination: string
  readonly missing: number
}

const rows: Row[] = []
const origins = new Origins(feeds)

function look({ gap, name: phase }: Phase, from: number, to: number): void {
  origins.update(RTMP_FRAME_MS)
  for (const [name, stream] of Object.entries(streams) as ['studio' | 'stage', typeof studio][]) {
    const fps = name === 'studio' ? 30 : 1_000 / RTMP_FRAME_MS
    for (const [destination, sink] of Object.entries(stream.sinks)) {
      const seen = measure(sink, from, to, name === 'stage' ? origins : undefined)
      const missing = Math.round(((to - from) / 1_000) * fps - seen.pictures)
      rows.push({ phase, destination, missing, ...seen })
      const where = `${phase}, ${destination}`
      if (seen.gapMs > gap[name] * 1_000) faults.push(`${where}: no picture for ${(seen.gapMs / 1_000).toFixed(1)} s`)
      const soundGap = gap[name] * 1_000 + SOUND_LATER_MS
      if (seen.soundGapMs > soundGap) faults.push(`${where}: no sound for ${(seen.soundGapMs / 1_000).toFixed(1)} s`)
      if (seen.back > 0) faults.push(`${where}: ${seen.back} timestamps went back`)
      if ((seen.skipped ?? 0) > 0) faults.push(`${where}: ${seen.skipped} pictures were left out of a session`)
      if (seen.syncMs > MOST_APART_MS[name]) faults.push(`${where}: sound is ${Math.round(seen.syncMs)} ms off`)
    }
  }
}

console.log(`${machine()}, load ${loadavg()[0]?.toFixed(1)}\n`)
presenter.start()
primary.start()
backup.start()
for (const stream of Object.values(streams)) {
  await stage.untilLive(stream)
  // A slate that is still being made cannot be shown.
  await stage.untilSlate(stream)
}
const claims = new ClaimWatch(Object.values(streams), (id, signal) =>
  stage.call('GET /api/streams/{id}/relay', { path: { id }, signal }),
)
const chosen = phases.filter(({ name }) => ONLY?.includes(name) ?? true)
const shareMs = (SECONDS * 1_000) / chosen.length
console.log(
  '| phase | destination | no picture for, s | no sound for, s | pictures | missing | left out | timestamps back | sound off, ms |',
)
console.log('|---|---|---|---|---|---|---|---|---|')
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
  }
  look(phase, from, performance.now())
  for (const row of rows.filter((one) => one.phase === phase.name)) {
    const { back, destination, gapMs, missing, pictures, skipped, soundGapMs, syncMs } = row
    const gaps = [gapMs, soundGapMs].map((ms) => (ms / 1_000).toFixed(1))
    const figures = [...gaps, pictures, missing, skipped ?? '–', back, Math.round(syncMs)]
    console.log(`| ${[phase.name, destination, ...figures].join(' | ')} |`)
  }
}
await claims.stop()

/** Ends the streams, and looks at what was recorded. */
async function lookAtRecordings(): Promise<void> {
  for (const { id, name } of Object.values(streams)) {
    const at = { path: { id } }
    await stage.call('POST /api/streams/{id}/stop', at)
    const session = async () => (await stage.call('GET /api/streams/{id}/sessions', at))[0]
    const isKept = async () => {
      const seen = await session()
      const { recordings } = seen
      return recordings.length > 0 &&
        recordings.every(({ status }: { status: string }) => status !== 'recording' && status !== 'processing')
        ? seen
        : undefined
    }
    const { liveSeconds, recordings } = await waitFor(isKept, { timeoutMs: 60_000, what: `the recordings of ${name}` })
    const kept = recordings.reduce((sum: number, { duration }: { duration: number | null }) => sum + (duration ?? 0), 0)
    const states = recordings.map(({ status }: { status: string }) => status)
    console.log(
      `\n${name}: live for ${Math.round(liveSeconds)} s, ${recordings.length} recordings of ${Math.round(kept)} s (${[...new Set(states)].join(', ')})`,
    )
    if (states.some((status: string) => status !== 'ready')) faults.push(`${name}: a recording is ${states.join(', ')}`)
  }
}

await Promise.all([presenter.stop(), primary.stop(), backup.stop()])
await lookAtRecordings().catch((error: unknown) => faults.push(`recordings: ${(error as Error).message}`))
console.log(`\n${claims.answers} statuses were compared, ${claims.unanswered} questions had no answer.`)
for (const { phase, times, what } of claims.contradictions) faults.push(`${phase}: ${what} (${times} times)`)
console.log(
  faults.length === 0 ? 'Every bound held.' : `\nBroken bounds:\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
)
console.log(`load at the end ${loadavg()[0]?.toFixed(1)}`)
if (faults.length > 0 && process.env['LOGS']) await writeFile(process.env['LOGS'], stage.output)
await stage.close()
process.exit(faults.length === 0 ? 0 : 1)
