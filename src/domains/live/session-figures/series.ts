import { sql as raw } from 'kysely'
import { SECOND, type Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import { lessThan } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import { findSession, findStream, type SessionInSpan, type ShownDestinationState } from '../streams/index.ts'
import type { SessionSeriesData } from './schemas.ts'
import { stepsOf, stepSecondsOf } from './steps.ts'
import { streamDestinationSamples, streamSamples } from './tables.ts'

interface Wanted {
  readonly sessionId: string
  readonly stepSeconds: number
}

/** The start of the step that a sample belongs to, in seconds since the epoch. */
function stepOf({ stepSeconds }: Wanted) {
  return raw<number>`(floor(extract(epoch from at) / ${stepSeconds}::integer) * ${stepSeconds}::integer)::bigint`
}

const measuredSteps = query({ streamSamples }, (db, $: Wanted) =>
  db
    .selectFrom('streamSamples')
    .select((e) => [
      stepOf($).as('step'),
      e.fn.max('viewers').as('viewers'),
      e.cast<number>(e.fn.sum('measuredMs'), 'bigint').as('measured'),
      e.cast<number>(e.fn.sum('publisherMs'), 'bigint').as('publisher'),
      e.fn.sum<number>('receivedBits').as('bits'),
    ])
    .where('sessionId', '=', $.sessionId)
    .groupBy('step')
    .orderBy('step'),
)

const measuredDestinationSteps = query({ streamDestinationSamples }, (db, $: Wanted) =>
  db
    .selectFrom('streamDestinationSamples')
    .select((e) => [
      'destinationId as id',
      stepOf($).as('step'),
      e.cast<number>(e.fn.sum('measuredMs'), 'bigint').as('measured'),
      e.cast<number>(e.fn.sum('liveMs'), 'bigint').as('live'),
      e.fn.sum<number>('sentBits').as('bits'),
      e.cast<number>(e.fn.sum('droppedVideo'), 'bigint').as('video'),
      e.cast<number>(e.fn.sum('droppedAudio'), 'bigint').as('audio'),
      e.cast<number>(e.fn.sum('reconnects'), 'bigint').as('reconnects'),
      raw<ShownDestinationState>`(array_agg(status order by at desc))[1]`.as('status'),
    ])
    .where('sessionId', '=', $.sessionId)
    .groupBy(['id', 'step'])
    .orderBy('id')
    .orderBy('step'),
)

type Measured = Awaited<ReturnType<typeof measuredSteps.rows>>[number]
type MeasuredDestination = Awaited<ReturnType<typeof measuredDestinationSteps.rows>>[number]

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
      measuredSteps.rows(this.#sql, { sessionId: id, stepSeconds }),
      measuredDestinationSteps.rows(this.#sql, { sessionId: id, stepSeconds }),
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
