import { defineEntity, p } from '@mikro-orm/postgresql'
import { Stream } from '../streams/index.ts'
import type { BroadcastStatus } from './schemas.ts'

const time = () => p.datetime().columnType('timestamptz')

/** Files that are played over a stream, now or at a time; how far it is. */
const StreamBroadcast = defineEntity({
  name: 'StreamBroadcast',
  tableName: 'stream_broadcasts',
  indexes: [
    {
      name: 'stream_broadcasts_open_key',
      expression: `create unique index stream_broadcasts_open_key on stream_broadcasts (stream_id)
        where status in ('scheduled', 'preparing', 'playing', 'paused')`,
    },
    {
      name: 'stream_broadcasts_by_time',
      expression: 'create index stream_broadcasts_by_time on stream_broadcasts (stream_id, created_at desc)',
    },
    {
      name: 'stream_broadcasts_open',
      expression: `create index stream_broadcasts_open on stream_broadcasts (workspace_id)
        where status in ('scheduled', 'preparing', 'playing', 'paused')`,
    },
  ],
  properties: {
    id: p.uuid().primary(),
    stream: p
      .manyToOne(Stream)
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('stream_broadcasts_stream_id_fkey')
      .index(false),
    workspaceId: p.uuid(),
    status: p.text().$type<BroadcastStatus>(),
    items: p.json(),
    loop: p.boolean(),
    /** Whether its beginning sends the stream to its destinations. */
    goLive: p.boolean(),
    /** Place in the list, and milliseconds in that file: as the media node last said, about once a second. */
    item: p.integer(),
    positionMs: p.bigint('number'),
    /** Grows with every command to go somewhere else; what a media node says of a place before it does not count. */
    cue: p.integer(),
    /** The media node that plays it, and when it last said so, by the clock of the database. */
    nodeId: p.uuid().nullable(),
    seenAt: time().nullable(),
    scheduledFor: time().nullable(),
    startedAt: time().nullable(),
    endedAt: time().nullable(),
    error: p.text().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
})

export const playoutEntities = [StreamBroadcast]
