import { sql as raw } from 'kysely'
import type { MediaEvent, MediaWarning } from '../../../../media/types.ts'
import { SECOND } from '../../../core/clock.ts'
import { systemTurn } from '../../../core/system-turn.ts'
import type { Turn } from '../../../core/turn.ts'
import { not } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import { markWorked } from '../destinations/index.ts'
import type { StreamLifecycle } from './lifecycle.ts'
import {
  streamInput,
  streamDestinationChanged,
  streamDiagnosis,
  streamSlate,
  streamUpdated,
  streamWarning,
} from './events.ts'
import { notifyMembers } from './notices.ts'
import { streamDestinationFailed, streamMinutesLow } from './notifications.ts'
import { next } from './state.ts'
import { findStream, type StreamRow } from './store.ts'
import { streamDestinations, streams, streamSessions } from './tables.ts'
import type { ShownDestinationState, StreamPlatformData } from './schemas.ts'

/** System turns: reports of media nodes, and timeouts. Each can run twice. */

export interface DestinationReport {
  readonly id: string
  readonly state: ShownDestinationState
  readonly since: string
  readonly lastError: StreamPlatformData['lastError']
  /** Whether its server has accepted media with this key. */
  readonly hasWorked: boolean
}

/** The state of a stream on a media node. */
export interface Observation {
  readonly streamId: string
  readonly nodeId: string
  /** The publisher that sends now, and the public part of the key it was admitted with. */
  readonly ingest: { readonly sessionId: string; readonly path: string } | null
  readonly destinations: readonly DestinationReport[]
  /** ISO 8601: when it was observed. */
  readonly at: string
  /** ISO 8601: since when the media process has not answered. Absent while it answers. */
  readonly silentSince?: string | null
}

interface ReportColumns {
  readonly id: string
  readonly state: ShownDestinationState
  readonly since: string
}

/** Writes the states of several destinations at once. */
const writeReports = query({ streamDestinations }, (db, $: { streamId: string; reports: string }) =>
  db
    .updateTable('streamDestinations as d')
    .from(
      raw<ReportColumns>`json_to_recordset(${$.reports}::json)`.as<'r'>(
        raw`r (id uuid, state text, since timestamptz, "lastError" jsonb)`,
      ),
    )
    .set({ status: raw`r.state`, since: raw`r.since`, lastError: raw`r."lastError"` })
    .where('d.streamId', '=', $.streamId)
    .whereRef('d.id', '=', 'r.id'),
)

/** Records a warning, unless one for as few minutes was given. */
const noteWarning = query({ streamSessions }, (db, $: { sessionId: string; minutesLeft: number }) =>
  db
    .updateTable('streamSessions')
    .set({ warnedMinutes: $.minutesLeft })
    .where('id', '=', $.sessionId)
    .where('endedAt', 'is', null)
    .where((e) => e.or([e('warnedMinutes', 'is', null), e('warnedMinutes', '>', $.minutesLeft)])),
)

/** Writes the state that a media node reports. */
export const observeStream = systemTurn<Observation>({
  name: 'streams.observe',
  run: async ({ turn, input, streams: { lifecycle } }) => {
    const row = await findStream(turn.sql, input.streamId)
    if (row === undefined) return
    await observeDestinations(turn, row, input.destinations)
    await noteWorked(turn, row, input)
    await observeIngest(turn, lifecycle, row, input)
    await observeSilence(turn, input)
  },
})

async function observeIngest(
  turn: Turn,
  lifecycle: StreamLifecycle,
  row: StreamRow,
  input: Pick<Observation, 'ingest' | 'nodeId'>,
): Promise<void> {
  const { ingest, nodeId } = input
  if (ingest === null) {
    // Another node has the publisher now, or there was none.
    if (row.ingestId === null || row.ingestNode !== nodeId) return
    await streams.update(turn.sql, { id: row.id }, { ingestId: null, ingestNode: null, unconfirmedSince: null })
    await lifecycle.move(turn, row, next(row.status, 'ingest_ended') ?? row.status)
    return
  }
  // A publisher with a key from before the last arming is being disconnected.
  if (ingest.path !== row.path || ingest.sessionId === row.ingestId) return
  const status = next(row.status, 'ingest_started')
  if (status === undefined) return
  lifecycle.arrived(row.id)
  await streams.update(
    turn.sql,
    { id: row.id },
    { ingestId: ingest.sessionId, ingestNode: nodeId, mediaNode: nodeId, unconfirmedSince: null },
  )
  await lifecycle.move(turn, row, status)
}

/** Writes whether the node of the publisher confirms the state of a stream. */
async function observeSilence(turn: Turn, { nodeId, silentSince = null, streamId }: Observation): Promise<void> {
  const [changed] = await streams.updateReturning(
    turn.sql,
    { id: streamId, ingestNode: nodeId, unconfirmedSince: not(silentSince) },
    { unconfirmedSince: silentSince, version: increment() },
  )
  if (changed === undefined) return
  const { status, title, version } = changed
  turn.emit(streamUpdated, { streamId, title, status, version, endReason: null })
}

async function observeDestinations(turn: Turn, row: StreamRow, reports: readonly DestinationReport[]): Promise<void> {
  if (row.status === 'ended') return
  const changed = reports.flatMap((report) => {
    const platform = row.platforms.find((one) => one._id === report.id)
    return platform && differs(platform, report) ? [{ platform, report }] : []
  })
  if (changed.length === 0) return
  await writeReports.run(turn.sql, { streamId: row.id, reports: JSON.stringify(changed.map(({ report }) => report)) })
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
    if (report.state === 'needs_attention' && platform.status !== 'needs_attention') {
      const reason = report.lastError?.message ?? ''
      const data = { streamId: row.id, stream: row.title, destination: platform.name, reason }
      await notifyMembers(turn, streamDestinationFailed, data)
    }
  }
}

/** Records the keys that their servers accept, for later processes that are refused with such a key. */
async function noteWorked(turn: Turn, row: StreamRow, { at, destinations }: Observation): Promise<void> {
  const worked = destinations.filter(({ hasWorked }) => hasWorked).map(({ id }) => id)
  const accounts = row.platforms.filter(({ _id }) => worked.includes(_id)).map(({ accountId }) => accountId)
  await markWorked(turn.sql, accounts, at)
}

/** Whether a state depends on a running media process. */
export function canBeUnknown(state: ShownDestinationState): boolean {
  return !['idle', 'stopped', 'needs_attention', 'unknown'].includes(state)
}

function differs(platform: StreamPlatformData, report: DestinationReport): boolean {
  return (
    platform.status !== report.state ||
    platform.since !== report.since ||
    platform.lastError?.at !== report.lastError?.at
  )
}

/** Destinations that were connected at the last report of their media node. */
function unknownOf(row: StreamRow, at: string): DestinationReport[] {
  return row.platforms.flatMap(({ _id: id, lastError, status }) =>
    canBeUnknown(status) ? [{ id, state: 'unknown', since: at, lastError, hasWorked: false }] : [],
  )
}

/** Handles the loss of the media node that had the publisher. */
export const loseIngest = systemTurn<{ readonly streamId: string; readonly nodeId: string; readonly at: string }>({
  name: 'streams.lose_ingest',
  run: async ({ turn, input, streams: { lifecycle } }) => {
    const row = await findStream(turn.sql, input.streamId)
    if (row === undefined) return
    // Destinations stay connected for a while without a publisher, on its last node.
    if ((row.ingestNode ?? row.mediaNode) === input.nodeId) {
      await lifecycle.place(turn, row)
      await observeDestinations(turn, row, unknownOf(row, input.at))
    }
    await observeIngest(turn, lifecycle, row, { ...input, ingest: null })
  },
})

/** Ends a stream whose publisher did not return in time. */
export const expireStream = systemTurn<{ readonly streamId: string; readonly now: number }>({
  name: 'streams.expire',
  run: async ({ turn, input, streams: { lifecycle } }) => {
    const row = await findStream(turn.sql, input.streamId)
    if (row === undefined || next(row.status, 'source_lost') === undefined) return
    if (Date.parse(row.statusSince) + row.holdSeconds * SECOND > input.now) return
    await lifecycle.end(turn, row, 'source_lost')
  },
})

/** Ends a session whose owner has no minutes left. */
export const exhaustMinutes = systemTurn<{ readonly streamId: string; readonly sessionId: string }>({
  name: 'streams.exhaust_minutes',
  run: async ({ turn, input, streams: { lifecycle } }) => {
    const row = await findStream(turn.sql, input.streamId)
    if (row === undefined || row.sessionId !== input.sessionId) return
    if (next(row.status, 'minutes_used_up') === undefined) return
    await lifecycle.end(turn, row, 'minutes_used_up')
  },
})

export interface MinutesWarning {
  readonly streamId: string
  readonly sessionId: string
  readonly minutesLeft: number
}

/** Warns that minutes are running out, once for each threshold of a session. */
export const warnOfMinutes = systemTurn<MinutesWarning>({
  name: 'streams.warn_of_minutes',
  run: async ({ turn, input }) => {
    const { streamId, sessionId, minutesLeft } = input
    const warned = await noteWarning.run(turn.sql, { sessionId, minutesLeft })
    if (warned === 0) return
    turn.emit(streamWarning, { streamId, code: 'minutes_running_out', minutesLeft })
    await notifyMembers(turn, streamMinutesLow, { streamId, minutes: minutesLeft })
  },
})

export interface DiagnosisReport {
  readonly streamId: string
  readonly raised: readonly MediaWarning[]
  readonly cleared: readonly MediaWarning[]
}

/** Announces problems of an ingest that a media node found or saw resolved. */
export const reportDiagnosis = systemTurn<DiagnosisReport>({
  name: 'streams.report_diagnosis',
  run: async ({ turn, input }) => {
    const { cleared, raised, streamId } = input
    if ((await findStream(turn.sql, streamId)) === undefined) return
    for (const warning of raised) turn.emit(streamDiagnosis, { streamId, ...warning, status: 'raised' })
    for (const warning of cleared) turn.emit(streamDiagnosis, { streamId, ...warning, status: 'cleared' })
  },
})

/** Announces that destinations see the slate, or the publisher again. */
export const announceSlate = systemTurn<{ readonly streamId: string; readonly shown: boolean }>({
  name: 'streams.announce_slate',
  run: async ({ turn, input: { shown, streamId } }) => {
    if ((await findStream(turn.sql, streamId)) !== undefined) turn.emit(streamSlate, { streamId, shown })
  },
})

/** Announces that another publisher is live. */
export const announceInput = systemTurn<Omit<Extract<MediaEvent, { type: 'input.changed' }>, 'type'>>({
  name: 'streams.announce_input',
  run: async ({ turn, input: { previous, reason, source, streamId } }) => {
    if ((await findStream(turn.sql, streamId)) !== undefined)
      turn.emit(streamInput, { streamId, source, previous, reason })
  },
})

/** Announces that WebRTC clients were disconnected because their process ended. */
export const announceWebrtcLost = systemTurn<Omit<Extract<MediaEvent, { type: 'webrtc.lost' }>, 'type'>>({
  name: 'streams.announce_webrtc_lost',
  run: async ({ turn, input: { publishers, streamId, viewers } }) => {
    if ((await findStream(turn.sql, streamId)) === undefined) return
    const watching = viewers === 1 ? '1 viewer' : `${viewers} viewers`
    const clients = [...(publishers > 0 ? ['the publisher'] : []), ...(viewers > 0 ? [watching] : [])].join(' and ')
    const message = `The WebRTC process of the media node ended and disconnected ${clients}. They can reconnect at once.`
    turn.emit(streamWarning, { streamId, code: 'webrtc_lost', message })
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
  announceInput,
  announceWebrtcLost,
]
