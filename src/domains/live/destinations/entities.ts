import { defineEntity, p } from '@mikro-orm/postgresql'
import type { LivePlatformName } from './live-platforms.ts'

const time = () => p.datetime().columnType('timestamptz')

const RtmpDestinationSchema = defineEntity({
  name: 'RtmpDestination',
  tableName: 'rtmp_destinations',
  indexes: [
    {
      name: 'rtmp_destinations_by_time',
      expression:
        'create index rtmp_destinations_by_time on rtmp_destinations (workspace_id, created_at desc, id desc)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: p.uuid(),
    name: p.text(),
    url: p.text(),
    /** A well-known platform, whose rules apply; null for any other server. */
    platform: p.text().$type<LivePlatformName>().nullable(),
    keySealed: p.text(),
    /** The last characters of the key, by which its owner knows it again. */
    keyHint: p.text(),
    /** When the server first took media with this key; null until it has. */
    workedAt: time().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
})

/** An RTMP server somewhere, with the key to publish there. */
export class RtmpDestination extends RtmpDestinationSchema.class {}
RtmpDestinationSchema.setClass(RtmpDestination)

export const destinationEntities = [RtmpDestinationSchema]
