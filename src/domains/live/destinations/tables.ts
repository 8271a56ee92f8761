import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { LivePlatformName } from './live-platforms.ts'

/** An RTMP server, with the key to publish there. */
export const RtmpDestination = defineEntity({
  name: 'RtmpDestination',
  tableName: 'rtmp_destinations',
  indexes: [{ name: 'rtmp_destinations_by_workspace', properties: ['workspaceId', 'id'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'rtmp_destinations_workspace_id_fkey', onDelete: 'cascade' }),
    name: p.text(),
    url: p.text(),
    /** A known platform, whose rules apply. Null for any other server. */
    platform: p.text().$type<LivePlatformName>().nullable(),
    keySealed: p.text(),
    /** The last characters of the key, so that its owner recognizes it. */
    keyHint: p.text(),
    /** When the server first accepted media with this key. Null until then. */
    workedAt: timestamp().nullable(),
    /** While a test runs: when it is over at the latest. */
    testUntil: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const rtmpDestinations = table(RtmpDestination)
