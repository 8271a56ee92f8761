import type { MediaNodeStatus } from '../../../../media/types.ts'
import { SECOND, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { knownSessions, type ShownDestinationState } from '../streams/index.ts'
import { STEP_MS } from './steps.ts'

/** A time without a report that is longer than this is not measured. */
const MAX_GAP_MS = 3 * SECOND
/** Steps that wait for the database while it is unavailable: an hour of one stream. Older ones are dropped. */
const MAX_WAITING = 3_600

type StreamReport = MediaNodeStatus['streams'][number]
type DestinationCounts = Pick<StreamReport['destinations'][number], 'droppedVideo' | 'droppedAudio' | 'reconnects'>

interface DestinationStep {
  measuredMs: number
  liveMs: number
  sentBits: number
  droppedVideo: number
  droppedAudio: number
  reconnects: number
  status: ShownDestinationState
}

interface Step {
  readonly sessionId: string
  readonly at: number
  measuredMs: number
  publisherMs: number
  receivedBits: number
  viewers: number
  readonly destinations: Map<string, DestinationStep>
}

interface Sampled {
  readonly sessionId: string
  /** Monotonic: when the stream was last reported. */
  reportedAt: number
  /** Counters of destinations at the last report. They start at zero with the session. */
  readonly counts: Map<string, DestinationCounts>
  step: Step | undefined
}

const NO_COUNTS: DestinationCounts = { droppedVideo: 0, droppedAudio: 0, reconnects: 0 }

/** Adds up what the media process of this node reports of live sessions, and writes it in steps of ten seconds. */
export class SessionSampler {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #streams = new Map<string, Sampled>()
  /** Complete steps that are not written yet. */
  #waiting: Step[] = []

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** Sets the current session of a stream. @param viewers how many its preview has already */
  setSession(streamId: string, sessionId: string | undefined, viewers: number): void {
    const sampled = this.#streams.get(streamId)
    if (sampled?.sessionId === sessionId) return
    this.forget(streamId)
    if (sessionId === undefined) return
    const reportedAt = this.#clock.monotonic()
    this.#streams.set(streamId, { sessionId, reportedAt, counts: new Map(), step: undefined })
    if (viewers > 0) this.sawViewers(streamId, viewers)
  }

  forget(streamId: string): void {
    const step = this.#streams.get(streamId)?.step
    if (step !== undefined) this.#waiting.push(step)
    this.#streams.delete(streamId)
  }

  /** Takes a report of the media process. */
  observe({ streams }: Pick<MediaNodeStatus, 'streams'>): void {
    for (const report of streams) {
      const sampled = this.#streams.get(report.streamId)
      if (sampled !== undefined && report.live) this.#add(sampled, report)
    }
  }

  /** Takes a change of the number of viewers, which may be back before the next report. */
  sawViewers(streamId: string, viewers: number): void {
    const sampled = this.#streams.get(streamId)
    if (sampled === undefined) return
    const step = this.#stepOf(sampled)
    step.viewers = Math.max(step.viewers, viewers)
  }

  /** Writes complete steps. On failure they are kept for the next call. */
  async write(): Promise<void> {
    const writing = this.#waiting
    if (writing.length === 0) return
    this.#waiting = []
    try {
      await this.#store(writing)
    } catch (error) {
      this.#waiting = [...writing, ...this.#waiting].slice(-MAX_WAITING)
      throw error
    }
  }

  /** Completes all steps, so that the next call of `write` stores them. */
  endAll(): void {
    for (const streamId of this.#streams.keys()) this.forget(streamId)
  }

  #add(sampled: Sampled, { destinations, ingest, viewers }: StreamReport): void {
    const now = this.#clock.monotonic()
    const elapsed = now - sampled.reportedAt
    sampled.reportedAt = now
    // The time before the first report after a silence is a gap. Counters are of the whole session.
    const ms = elapsed > MAX_GAP_MS ? 0 : Math.round(elapsed)
    const step = this.#stepOf(sampled)
    step.measuredMs += ms
    step.viewers = Math.max(step.viewers, viewers)
    if (ingest !== null) {
      step.publisherMs += ms
      step.receivedBits += (ingest.bitrate * ms) / SECOND
    }
    for (const { bitrate, droppedAudio, droppedVideo, id, reconnects, state } of destinations) {
      const before = sampled.counts.get(id) ?? NO_COUNTS
      const counts = { droppedVideo, droppedAudio, reconnects }
      sampled.counts.set(id, counts)
      const own = step.destinations.get(id) ?? { measuredMs: 0, liveMs: 0, sentBits: 0, ...NO_COUNTS, status: state }
      step.destinations.set(id, {
        measuredMs: own.measuredMs + ms,
        liveMs: own.liveMs + (state === 'live' ? ms : 0),
        sentBits: own.sentBits + (bitrate * ms) / SECOND,
        droppedVideo: own.droppedVideo + gain(counts.droppedVideo, before.droppedVideo),
        droppedAudio: own.droppedAudio + gain(counts.droppedAudio, before.droppedAudio),
        reconnects: own.reconnects + gain(counts.reconnects, before.reconnects),
        status: state,
      })
    }
  }

  #stepOf(sampled: Sampled): Step {
    const at = Math.floor(this.#clock.now() / STEP_MS) * STEP_MS
    if (sampled.step?.at === at) return sampled.step
    if (sampled.step !== undefined) this.#waiting.push(sampled.step)
    const { sessionId } = sampled
    return (sampled.step = {
      sessionId,
      at,
      measuredMs: 0,
      publisherMs: 0,
      receivedBits: 0,
      viewers: 0,
      destinations: new Map(),
    })
  }

  async #store(complete: readonly Step[]): Promise<void> {
    // Deleting a stream deletes its sessions.
    const known = await knownSessions(this.#sql, [...new Set(complete.map(({ sessionId }) => sessionId))])
    const steps = complete.filter(({ sessionId }) => known.has(sessionId))
    if (steps.length === 0) return
    const samples = steps.map((step) => ({
      session_id: step.sessionId,
      at: new Date(step.at).toISOString(),
      measured_ms: step.measuredMs,
      publisher_ms: step.publisherMs,
      received_bits: step.receivedBits,
      viewers: step.viewers,
    }))
    const destinations = steps.flatMap(({ at, destinations: all, sessionId }) =>
      [...all].map(([id, one]) => ({
        session_id: sessionId,
        destination_id: id,
        at: new Date(at).toISOString(),
        measured_ms: one.measuredMs,
        live_ms: one.liveMs,
        sent_bits: one.sentBits,
        dropped_video: one.droppedVideo,
        dropped_audio: one.droppedAudio,
        reconnects: one.reconnects,
        status: one.status,
      })),
    )
    // One statement, so that a failure leaves nothing behind that the next try would add a second time.
    await this.#sql.run(ADD, [JSON.stringify(samples), JSON.stringify(destinations)])
  }
}

/** The increase of a counter. A counter that fell was restarted by another media process. */
function gain(now: number, before: number): number {
  return now >= before ? now - before : now
}

// Written by hand, because the typed form of its sums and conflicts is longer and harder to read.
// A step can come twice: a stream that leaves a node may come back within ten seconds.
const ADD = `
  with added as (
    insert into stream_samples (session_id, at, measured_ms, publisher_ms, received_bits, viewers)
    select session_id, at, sum(measured_ms), sum(publisher_ms), sum(received_bits), max(viewers)
    from json_populate_recordset(null::stream_samples, $1::json)
    group by session_id, at
    on conflict (session_id, at) do update set
      measured_ms = stream_samples.measured_ms + excluded.measured_ms,
      publisher_ms = stream_samples.publisher_ms + excluded.publisher_ms,
      received_bits = stream_samples.received_bits + excluded.received_bits,
      viewers = greatest(stream_samples.viewers, excluded.viewers)
  )
  insert into stream_destination_samples (session_id, destination_id, at, measured_ms, live_ms, sent_bits,
    dropped_video, dropped_audio, reconnects, status)
  select session_id, destination_id, at, sum(measured_ms), sum(live_ms), sum(sent_bits), sum(dropped_video),
    sum(dropped_audio), sum(reconnects), (array_agg(status order by position desc))[1]
  from json_populate_recordset(null::stream_destination_samples, $2::json) with ordinality as r(session_id,
    destination_id, at, measured_ms, live_ms, sent_bits, dropped_video, dropped_audio, reconnects, status, position)
  group by session_id, destination_id, at
  on conflict (session_id, destination_id, at) do update set
    measured_ms = stream_destination_samples.measured_ms + excluded.measured_ms,
    live_ms = stream_destination_samples.live_ms + excluded.live_ms,
    sent_bits = stream_destination_samples.sent_bits + excluded.sent_bits,
    dropped_video = stream_destination_samples.dropped_video + excluded.dropped_video,
    dropped_audio = stream_destination_samples.dropped_audio + excluded.dropped_audio,
    reconnects = stream_destination_samples.reconnects + excluded.reconnects,
    status = excluded.status`
