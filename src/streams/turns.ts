import type { DestinationFault, DestinationState, MediaWarning } from '../../media/types.ts'
import { SECOND } from '../core/clock.ts'
import { systemTurn } from '../core/system-turn.ts'
import type { Turn } from '../core/turn.ts'
import type { Broadcasts } from './broadcasts.ts'
import { streamDestinationChanged, streamDiagnosis, streamSlate, streamWarning } from './events.ts'
import { next } from './state.ts'
import { findStream, type StreamRow } from './store.ts'
import type { StreamPlatformData } from './schemas.ts'

/** Turns that the service asks for by itself: what the media nodes see, and what time brings. Each may come twice. */

export interface DestinationReport {
  readonly id: string
  readonly state: DestinationState
  readonly since: string
  readonly lastError: DestinationFault | null
}

/** How a stream looks on a media node right now. */
export interface Observation {
  readonly streamId: string
  readonly nodeId: string
  /** The publisher that sends now, and the public part of the key it was admitted with. */
  readonly ingest: { readonly sessionId: string; readonly path: string } | null
  readonly destinations: readonly DestinationReport[]
}

/** Makes the database agree with what a media node sees. */
export const observeStream = systemTurn<Observation>({
  name: 'streams.observe',
  run: async ({ turn, input, broadcasts }) => {
    const row = await findStream(turn.sql, input.streamId)
    if (row === undefined) return
    await observeDestinations(turn, row, input.destinations)
    await observeIngest(turn, broadcasts, row, input)
  },
})

async function observeIngest(turn: Turn, broadcasts: Broadcasts, row: StreamRow, input: Observation): Promise<void> {
  const { ingest, nodeId } = input
  if (ingest === null) {
    // Another node has the publisher by now, or none had.
    if (row.ingest_id === null || row.ingest_node !== nodeId) return
    await turn.sql.run('update streams set ingest_id = null, ingest_node = null where id = $1', [row.id])
    await broadcasts.move(turn, row, next(row.status, 'ingest_ended') ?? row.status)
    return
  }
  // A publisher with a key of before the last arming is being dropped: nobody counts on it.
  if (ingest.path !== row.path || ingest.sessionId === row.ingest_id) return
  const status = next(row.status, 'ingest_started')
  if (status === undefined) return
  broadcasts.arrived(row.id)
  await turn.sql.run('update streams set ingest_id = $2, ingest_node = $3, media_node = $3 where id = $1', [
    row.id,
    ingest.sessionId,
    nodeId,
  ])
  await broadcasts.move(turn, row, status)
}

async function observeDestinations(turn: Turn, row: StreamRow, reports: readonly DestinationReport[]): Promise<void> {
  if (row.status === 'ended') return
  const changed = reports.flatMap((report) => {
    const platform = row.platforms?.find((one) => one._id === report.id)
    return platform && differs(platform, report) ? [{ platform, report }] : []
  })
  if (changed.length === 0) return
  await turn.sql.run(
    `update stream_destinations d set status = r.state, since = r.since, last_error = r."lastError"
     from json_to_recordset($2::json) as r(id uuid, state text, since timestamptz, "lastError" jsonb)
     where d.stream_id = $1 and d.id = r.id`,
    [row.id, JSON.stringify(changed.map(({ report }) => report))],
  )
  await turn.sql.run('update streams set version = version + 1 where id = $1', [row.id])
  for (const { platform, report } of changed) {
    turn.emit(streamDestinationChanged, {
      streamId: row.id,
      destinationId: platform._id,
      platform: platform.platform,
      accountId: platform.accountId,
      name: platform.name,
      status: report.state,
      since: report.since,
      lastError: report.lastError,
    })
  }
}

function differs(platform: StreamPlatformData, report: DestinationReport): boolean {
  return (
    platform.status !== report.state ||
    platform.since !== report.since ||
    platform.lastError?.at !== report.lastError?.at
  )
}

/** The media node that had the publisher is gone, process and all. */
export const loseIngest = systemTurn<{ readonly streamId: string; readonly nodeId: string }>({
  name: 'streams.lose_ingest',
  run: async ({ turn, input, broadcasts }) => {
    const row = await findStream(turn.sql, input.streamId)
    if (row === undefined) return
    if (row.ingest_node === input.nodeId) await broadcasts.place(turn, row)
    await observeIngest(turn, broadcasts, row, { ...input, ingest: null, destinations: [] })
  },
})

/** Ends a stream whose publisher did not come back in time. */
export const expireStream = systemTurn<{ readonly streamId: string; readonly now: number }>({
  name: 'streams.expire',
  run: async ({ turn, input, broadcasts }) => {
    const row = await findStream(turn.sql, input.streamId)
    if (row === undefined || next(row.status, 'source_lost') === undefined) return
    if (Date.parse(row.status_since) + row.hold_seconds * SECOND > input.now) return
    await broadcasts.end(turn, row, 'source_lost')
  },
})

/** Ends a broadcast whose owner has no minutes left. */
export const exhaustMinutes = systemTurn<{ readonly streamId: string; readonly sessionId: string }>({
  name: 'streams.exhaust_minutes',
  run: async ({ turn, input, broadcasts }) => {
    const row = await findStream(turn.sql, input.streamId)
    if (row === undefined || row.session_id !== input.sessionId) return
    if (next(row.status, 'minutes_used_up') === undefined) return
    await broadcasts.end(turn, row, 'minutes_used_up')
  },
})

export interface MinutesWarning {
  readonly streamId: string
  readonly sessionId: string
  readonly minutesLeft: number
}

/** Says that the minutes run out, once for each threshold of a broadcast. */
export const warnOfMinutes = systemTurn<MinutesWarning>({
  name: 'streams.warn_of_minutes',
  run: async ({ turn, input }) => {
    const { streamId, sessionId, minutesLeft } = input
    const warned = await turn.sql.run(
      `update stream_sessions set warned_minutes = $2
       where id = $1 and ended_at is null and (warned_minutes is null or warned_minutes > $2)`,
      [sessionId, minutesLeft],
    )
    if (warned > 0) turn.emit(streamWarning, { streamId, code: 'minutes_running_out', minutesLeft })
  },
})

export interface DiagnosisReport {
  readonly streamId: string
  readonly raised: readonly MediaWarning[]
  readonly cleared: readonly MediaWarning[]
}

/** Announces what the media node finds wrong, or right again, with what a stream takes in. */
export const reportDiagnosis = systemTurn<DiagnosisReport>({
  name: 'streams.report_diagnosis',
  run: async ({ turn, input }) => {
    const { cleared, raised, streamId } = input
    if ((await findStream(turn.sql, streamId)) === undefined) return
    for (const warning of raised) turn.emit(streamDiagnosis, { streamId, ...warning, state: 'raised' })
    for (const warning of cleared) turn.emit(streamDiagnosis, { streamId, ...warning, state: 'cleared' })
  },
})

/** Announces that destinations see the slate, or the publisher again. */
export const announceSlate = systemTurn<{ readonly streamId: string; readonly shown: boolean }>({
  name: 'streams.announce_slate',
  run: async ({ turn, input: { shown, streamId } }) => {
    if ((await findStream(turn.sql, streamId)) !== undefined) turn.emit(streamSlate, { streamId, shown })
  },
})

export const streamTurns = [
  observeStream,
  loseIngest,
  expireStream,
  exhaustMinutes,
  warnOfMinutes,
  reportDiagnosis,
  announceSlate,
]
