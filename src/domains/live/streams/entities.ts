import { defineEntity, p } from '@mikro-orm/postgresql'
import { RtmpDestination } from '../destinations/index.ts'
import type { DestinationFault } from '../../../../media/types.ts'
import type { RecordGaps } from './record-gaps.ts'
import type { InputPreference, InputSource } from './inputs.ts'
import type { RenderingData } from './rendering.ts'
import type { ShownDestinationState } from './schemas.ts'
import type { SlateData } from './slate.ts'
import type { StreamStatus } from './state.ts'

const time = () => p.datetime().columnType('timestamptz')

const StreamSchema = defineEntity({
  name: 'Stream',
  tableName: 'streams',
  uniques: [{ name: 'streams_path_key', properties: ['path'] }],
  indexes: [
    {
      name: 'streams_by_time',
      expression: 'create index streams_by_time on streams (workspace_id, created_at desc, id desc)',
    },
    {
      name: 'streams_by_status',
      expression: 'create index streams_by_status on streams (workspace_id, status, created_at desc, id desc)',
    },
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
    workspaceId: p.uuid(),
    title: p.text(),
    description: p.text(),
    status: p.text().$type<StreamStatus>(),
    statusReason: p.text().nullable(),
    statusSince: time(),
    /** Since when the media node that takes it in has not answered; null while it answers. */
    unconfirmedSince: time().nullable(),
    /** The public part of the ingest key. */
    path: p.text(),
    keyHash: p.text(),
    keySealed: p.text(),
    /** Of the key for a second publisher; null until the stream is armed, where it was made before there were any. */
    backupKeyHash: p.text().nullable(),
    backupKeySealed: p.text().nullable(),
    /** Of the token for WHIP; null until the stream is armed. */
    whipTokenHash: p.text().nullable(),
    keyExpiresAt: time(),
    scheduledFor: time().nullable(),
    record: p.boolean(),
    /** What a recording does with an outage. */
    recordGaps: p.text().$type<RecordGaps>().default('cut'),
    /** What is shown while the publisher is away; null for nothing. */
    slate: p.json<SlateData>().nullable(),
    /** How long it may be. */
    holdSeconds: p.integer().default(60),
    /** Which encoder is on the air while both send, unless one was selected by hand. */
    inputPreference: p.text().$type<InputPreference>().default('primary'),
    /** The encoder that was selected by hand in this broadcast. */
    inputSelected: p.text().$type<InputSource>().nullable(),
    profile: p.text(),
    /** The broadcast under way. */
    sessionId: p.uuid().nullable(),
    liveAt: time().nullable(),
    /** The publisher that is connected, as the media node names it, and that node. */
    ingestId: p.uuid().nullable(),
    ingestNode: p.uuid().nullable(),
    /** The media node that its publisher is pointed to. */
    mediaNode: p.uuid().nullable(),
    version: p.integer(),
    createdAt: time(),
    updatedAt: time(),
  },
})

export class Stream extends StreamSchema.class {}
StreamSchema.setClass(Stream)

/** Where one stream goes: a destination, switched on or off, and how it fares. */
const StreamDestination = defineEntity({
  name: 'StreamDestination',
  tableName: 'stream_destinations',
  uniques: [{ name: 'stream_destinations_account_key', properties: ['stream', 'account'] }],
  properties: {
    id: p.uuid().primary(),
    stream: p
      .manyToOne(Stream)
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('stream_destinations_stream_id_fkey')
      .index(false),
    workspaceId: p.uuid(),
    platform: p.text(),
    account: p
      .manyToOne(RtmpDestination)
      .deleteRule('no action')
      .updateRule('no action')
      .foreignKeyName('stream_destinations_account_id_fkey')
      .index('stream_destinations_by_account'),
    name: p.text(),
    enabled: p.boolean(),
    status: p.text().$type<ShownDestinationState>(),
    since: time(),
    lastError: p.json<DestinationFault>().nullable(),
    rendering: p.json<RenderingData>().nullable(),
    createdAt: time(),
  },
})

/** One broadcast: from going live to its end. */
const StreamSession = defineEntity({
  name: 'StreamSession',
  tableName: 'stream_sessions',
  indexes: [
    {
      name: 'stream_sessions_by_time',
      expression: 'create index stream_sessions_by_time on stream_sessions (stream_id, started_at desc, id desc)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    stream: p
      .manyToOne(Stream)
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('stream_sessions_stream_id_fkey')
      .index(false),
    workspaceId: p.uuid(),
    /** Whose minutes it uses. */
    ownerId: p.uuid(),
    startedAt: time(),
    endedAt: time().nullable(),
    endReason: p.text().nullable(),
    /** The smallest number of minutes left of which a warning was given. */
    warnedMinutes: p.integer().nullable(),
    destinations: p.json(),
    /** The most people who watched its preview at the same time. */
    peakViewers: p.integer().default(0),
  },
})

/** Milliseconds that one publisher was live in one calendar month (UTC). */
const StreamUsage = defineEntity({
  name: 'StreamUsage',
  tableName: 'stream_usage',
  properties: {
    ingestId: p.uuid().primary(),
    month: p.date().primary(),
    sessionId: p.uuid().index('stream_usage_by_session'),
    streamId: p.uuid(),
    workspaceId: p.uuid(),
    ownerId: p.uuid(),
    liveMs: p.bigint('number'),
    updatedAt: time(),
  },
  indexes: [{ name: 'stream_usage_by_owner', properties: ['ownerId', 'month'] }],
})

export const streamEntities = [StreamSchema, StreamDestination, StreamSession, StreamUsage]
