import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { Stream } from '../streams/index.ts'
import type { BroadcastStatus } from './schemas.ts'

/** A file of a broadcast, as it is stored with it. */
export interface BroadcastItem {
  readonly assetId: string
  readonly renditionId: string | null
  readonly name: string
  readonly seconds: number | null
  /** Key of the file in the storage. */
  readonly key: string
  /** Set for a rendition that the broadcast needs and the request did not name: ordered for it, or already there. */
  readonly prepared?: 'ordered' | 'found'
  /** Where playing began at the start of the broadcast or after the last seek, and the number of that seek. */
  readonly began?: { readonly cue: number; readonly ms: number }
  /** Why the file was left out. */
  readonly error?: string
}

/** Files that are played over a stream, now or later, and the position. */
export const StreamBroadcast = defineEntity({
  name: 'StreamBroadcast',
  tableName: 'stream_broadcasts',
  indexes: [
    {
      name: 'stream_broadcasts_open_key',
      expression: `create unique index stream_broadcasts_open_key on stream_broadcasts (stream_id)
        where status in ('scheduled', 'preparing', 'playing', 'paused')`,
    },
    { name: 'stream_broadcasts_by_stream', properties: ['streamId', 'id'] },
    {
      name: 'stream_broadcasts_open',
      expression: `create index stream_broadcasts_open on stream_broadcasts (workspace_id)
        where status in ('scheduled', 'preparing', 'playing', 'paused')`,
    },
  ],
  properties: {
    id: p.uuid().primary(),
    streamId: references(Stream, { name: 'stream_broadcasts_stream_id_fkey', onDelete: 'cascade' }),
    workspaceId: p.uuid(),
    status: p.text().$type<BroadcastStatus>(),
    items: p.json<readonly BroadcastItem[]>(),
    loop: p.boolean(),
    /** Whether the stream goes live when the broadcast starts. */
    goLive: p.boolean(),
    /** Index in the list, and milliseconds in that file. The media node reports both about once a second. */
    item: p.integer(),
    positionMs: p.bigint('number'),
    /** Number of the last seek. A position that a media node reported before that seek is ignored. */
    cue: p.integer(),
    /** The media node that plays it, and when that node last reported, by the clock of the database. */
    nodeId: p.uuid().nullable(),
    seenAt: timestamp().nullable(),
    scheduledFor: timestamp().nullable(),
    startedAt: timestamp().nullable(),
    endedAt: timestamp().nullable(),
    error: p.text().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const streamBroadcasts = table(StreamBroadcast)
export type BroadcastRow = Row<typeof StreamBroadcast>
