import { defineEntity, p } from '@mikro-orm/postgresql'
import type { DestinationFault } from '../../../../media/types.ts'
import { references, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import { RtmpDestination } from '../destinations/index.ts'
import type { InputPreference, InputSource } from './inputs.ts'
import type { RecordGaps } from './record-gaps.ts'
import type { RenderingData } from './rendering.ts'
import type { EndReason, ShownDestinationState } from './schemas.ts'
import type { SessionDestination } from './session-schemas.ts'
import type { SlateData } from './slate.ts'
import type { StreamStatus } from './state.ts'

export const Stream = defineEntity({
  name: 'Stream',
  tableName: 'streams',
  uniques: [{ name: 'streams_path_key', properties: ['path'] }],
  indexes: [
    { name: 'streams_by_workspace', properties: ['workspaceId', 'id'] },
    { name: 'streams_by_status', properties: ['workspaceId', 'status', 'id'] },
    {
      name: 'streams_interrupted',
      expression: `create index streams_interrupted on streams (status_since) where status = 'interrupted'`,
    },
    {
      name: 'streams_by_ingest_node',
      expression: 'create index streams_by_ingest_node on streams (ingest_node) where ingest_node is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'streams_workspace_id_fkey', onDelete: 'cascade' }),
    title: p.text(),
    description: p.text(),
    status: p.text().$type<StreamStatus>(),
    statusReason: p.text().$type<EndReason>().nullable(),
    statusSince: timestamp(),
    /** Since when the media node of its publisher has not answered. Null while it answers. */
    unconfirmedSince: timestamp().nullable(),
    /** The public part of the ingest key. */
    path: p.text(),
    keyHash: p.text(),
    keySealed: p.text(),
    /** The key of a second publisher. Streams that are older than backup keys have none until they are armed. */
    backupKeyHash: p.text().nullable(),
    backupKeySealed: p.text().nullable(),
    /** Hash of the WHIP token. Null until the stream is armed. */
    whipTokenHash: p.text().nullable(),
    /** The WHIP token, for `getStreamKeys`. */
    whipTokenSealed: p.text().nullable(),
    keyExpiresAt: timestamp(),
    scheduledFor: timestamp().nullable(),
    record: p.boolean(),
    recordGaps: p.text().$type<RecordGaps>().default('cut'),
    /** What destinations see while the publisher is away. Null for nothing. */
    slate: p.json<SlateData>().nullable(),
    /** How long the stream waits for a publisher that is away. */
    holdSeconds: p.integer().default(60),
    /** Which encoder is live while both send, unless one was selected. */
    inputPreference: p.text().$type<InputPreference>().default('primary'),
    /** The encoder that was selected in this session. */
    inputSelected: p.text().$type<InputSource>().nullable(),
    profile: p.text(),
    /** The current session. */
    sessionId: p.uuid().nullable(),
    liveAt: timestamp().nullable(),
    /** The connected publisher, as the media node names it, and that node. */
    ingestId: p.uuid().nullable(),
    ingestNode: p.uuid().nullable(),
    /** The media node that publishers are sent to. */
    mediaNode: p.uuid().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

const ofStream = (name: string) => references(Stream, { name, onDelete: 'cascade' })

/** A destination of a stream: whether it is enabled, and its state. */
export const StreamDestination = defineEntity({
  name: 'StreamDestination',
  tableName: 'stream_destinations',
  uniques: [{ name: 'stream_destinations_account_key', properties: ['streamId', 'accountId'] }],
  properties: {
    id: p.uuid().primary(),
    streamId: ofStream('stream_destinations_stream_id_fkey'),
    workspaceId: p.uuid(),
    platform: p.text(),
    accountId: references(RtmpDestination, {
      name: 'stream_destinations_account_id_fkey',
      onDelete: 'cascade',
    }).index('stream_destinations_by_account'),
    name: p.text(),
    enabled: p.boolean(),
    status: p.text().$type<ShownDestinationState>(),
    since: timestamp(),
    lastError: p.json<DestinationFault>().nullable(),
    rendering: p.json<RenderingData>().nullable(),
    createdAt: timestamp(),
  },
})

/** A live session: from going live to its end. */
export const StreamSession = defineEntity({
  name: 'StreamSession',
  tableName: 'stream_sessions',
  indexes: [
    { name: 'stream_sessions_by_person', properties: ['ownerId', 'id'] },
    { name: 'stream_sessions_by_stream', properties: ['streamId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    streamId: ofStream('stream_sessions_stream_id_fkey'),
    workspaceId: p.uuid(),
    /** The user whose minutes it uses. */
    ownerId: p.uuid(),
    startedAt: timestamp(),
    endedAt: timestamp().nullable(),
    endReason: p.text().$type<EndReason>().nullable(),
    /** The lowest number of remaining minutes that a warning was given for. */
    warnedMinutes: p.integer().nullable(),
    destinations: p.json<SessionDestination[]>(),
    /** The most viewers that its preview had at the same time. */
    peakViewers: p.integer().default(0),
  },
})

/** Milliseconds that one publisher was live in one calendar month (UTC). It is kept after the stream is deleted. */
export const StreamUsage = defineEntity({
  name: 'StreamUsage',
  tableName: 'stream_usage',
  properties: {
    ingestId: p.uuid().primary(),
    /** First day of the month. */
    month: p.date().primary(),
    sessionId: p.uuid().index('stream_usage_by_session'),
    streamId: p.uuid(),
    workspaceId: p.uuid(),
    ownerId: p.uuid(),
    liveMs: p.bigint('number'),
    updatedAt: timestamp(),
  },
  indexes: [
    { name: 'stream_usage_by_owner', properties: ['ownerId', 'month'] },
    { name: 'stream_usage_by_person', properties: ['ownerId', 'ingestId', 'month'] },
  ],
})

export const streams = table(Stream)
export const streamDestinations = table(StreamDestination)
export const streamSessions = table(StreamSession)
export const streamUsage = table(StreamUsage)

export const streamEntities = [Stream, StreamDestination, StreamSession, StreamUsage]
