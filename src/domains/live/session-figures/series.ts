import { SECOND, type Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import { lessThan } from '../../../db/condition.ts'
import type { Row } from '../../../db/row.ts'
import { findSession, findStream, type SessionInSpan, type ShownDestinationState } from '../streams/index.ts'
import type { SessionSeriesData } from './schemas.ts'
import { stepsOf, stepSecondsOf } from './steps.ts'
import { streamDestinationSamples, streamSamples, type StreamDestinationSample, type StreamSample } from './tables.ts'

type Measured = Pick<Row<typeof StreamSample>, 'viewers'> & {
  readonly step: number
  readonly measured: number
  readonly publisher: number
  readonly bits: number
}

type MeasuredDestination = Pick<Row<typeof StreamDestinationSample>, 'reconnects'> & {
  readonly id: string
  readonly step: number
  readonly measured: number
  readonly live: number
  readonly bits: number
  readonly video: number
  readonly audio: number
  readonly status: ShownDestinationState
}

type Named = SessionInSpan['destinations'][number]

const NOT_MEASURED = {
  code: 'not_measured' as const,
  message: 'No media node reported this time.',
}
const NO_PUBLISHER = { code: 'no_publisher' as const, message: 'No publisher sent in this time.' }

/** What was measured in live sessions, over time. A time that was not measured has no value. */
export class SessionFigures {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** @throws AppError not_found */
  async ofSession(streamId: string, sessionId: string): Promise<SessionSeriesData> {
    const [session, stream] = await Promise.all([
      findSession(this.#sql, streamId, sessionId),
      findStream(this.#sql, streamId),
    ])
    if (session === undefined || stream === undefined) throw NotFound()
    // A session lists its destinations when they are removed, or at its end. The others are those of the stream.
    const present = stream.platforms.map((one) => ({ ...one, destinationId: one._id }))
    return this.series(session, session.endedAt === null ? [...session.destinations, ...present] : session.destinations)
  }

  /** Deletes what was measured longer ago. The sessions and their usage stay. @param keptMs milliseconds */
  async prune(keptMs: number): Promise<void> {
    const old = { at: lessThan(new Date(this.#clock.now() - keptMs)) }
    await streamSamples.delete(this.#sql, old)
    await streamDestinationSamples.delete(this.#sql, old)
  }

  /** The series of a session that is known already. */
  async series(
    {
      endedAt,
      id,
      peakViewers,
      startedAt,
      streamId,
    }: Pick<SessionInSpan, 'id' | 'streamId' | 'startedAt' | 'endedAt' | 'peakViewers'>,
    names: readonly Pick<Named, 'destinationId' | 'name' | 'platform'>[],
  ): Promise<SessionSeriesData> {
    const start = Date.parse(startedAt)
    const end = endedAt === null ? this.#clock.now() : Date.parse(endedAt)
    const stepSeconds = stepSecondsOf(end - start)
    const [rows, all] = await Promise.all([
      this.#sql.rows<Measured>(STEPS, [id, stepSeconds]),
      this.#sql.rows<MeasuredDestination>(DESTINATION_STEPS, [id, stepSeconds]),
    ])
    const steps = stepsOf(start, end, stepSeconds)
    const byStep = new Map(rows.map((row) => [row.step * SECOND, row]))
    const publisher = total(rows, ({ publisher: ms }) => ms)
    const known = new Map(names.map((one) => [one.destinationId, one]))
    return {
      streamId,
      sessionId: id,
      startedAt,
      endedAt,
      stepSeconds,
      peakViewers,
      publisherSeconds: rows.length === 0 ? null : seconds(publisher),
      bitrate: rate(
        total(rows, ({ bits }) => bits),
        publisher,
      ),
      points: steps.map((at) => ({ at: new Date(at).toISOString(), ...pointOf(byStep.get(at)) })),
      destinations: [...Map.groupBy(all, ({ id: destinationId }) => destinationId)].map(([destinationId, own]) => {
        const { name = '', platform = 'custom' } = known.get(destinationId) ?? {}
        return { destinationId, name, platform, ...destinationOf(own, steps) }
      }),
    }
  }
}

function pointOf(row: Measured | undefined): Omit<SessionSeriesData['points'][number], 'at'> {
  if (row === undefined) return { viewers: null, bitrate: null, publisherSeconds: null, gap: NOT_MEASURED }
  const bitrate = rate(row.bits, row.publisher)
  const publisherSeconds = seconds(row.publisher)
  return { viewers: row.viewers, bitrate, publisherSeconds, gap: bitrate === null ? NO_PUBLISHER : null }
}

function destinationOf(rows: readonly MeasuredDestination[], steps: readonly number[]) {
  const byStep = new Map(rows.map((row) => [row.step * SECOND, row]))
  const measured = total(rows, (row) => row.measured)
  return {
    liveShare: share(
      total(rows, ({ live }) => live),
      measured,
    ),
    bitrate: rate(
      total(rows, ({ bits }) => bits),
      measured,
    ),
    droppedVideo: total(rows, ({ video }) => video),
    droppedAudio: total(rows, ({ audio }) => audio),
    reconnects: total(rows, ({ reconnects }) => reconnects),
    points: steps.map((at) => {
      const row = byStep.get(at)
      return {
        at: new Date(at).toISOString(),
        status: row?.status ?? null,
        liveShare: row === undefined ? null : share(row.live, row.measured),
        bitrate: row === undefined ? null : rate(row.bits, row.measured),
        droppedVideo: row?.video ?? null,
        droppedAudio: row?.audio ?? null,
        reconnects: row?.reconnects ?? null,
      }
    }),
  }
}

function total<T>(rows: readonly T[], of: (row: T) => number): number {
  return rows.reduce((sum, row) => sum + of(row), 0)
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}

/** Bits per second. Null without time. */
function rate(bits: number, ms: number): number | null {
  return ms === 0 ? null : Math.round((bits * SECOND) / ms)
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000
}

const STEPS = `
  select (floor(extract(epoch from at) / $2::integer) * $2::integer)::bigint as step, max(viewers) as viewers,
    sum(measured_ms)::bigint as measured, sum(publisher_ms)::bigint as publisher, sum(received_bits) as bits
  from stream_samples
  where session_id = $1
  group by 1
  order by 1`

const DESTINATION_STEPS = `
  select destination_id as id, (floor(extract(epoch from at) / $2::integer) * $2::integer)::bigint as step,
    sum(measured_ms)::bigint as measured, sum(live_ms)::bigint as live, sum(sent_bits) as bits,
    sum(dropped_video)::bigint as video, sum(dropped_audio)::bigint as audio, sum(reconnects)::bigint as reconnects,
    (array_agg(status order by at desc))[1] as status
  from stream_destination_samples
  where session_id = $1
  group by 1, 2
  order by 1, 2`
