import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { RecordingStatus } from '../streams/index.ts'

/**
 * A file that a live stream is recorded to. It becomes an asset when it is complete. The row is kept after the
 * stream is deleted, like the asset.
 */
export const StreamRecording = defineEntity({
  name: 'StreamRecording',
  tableName: 'stream_recordings',
  uniques: [{ name: 'stream_recordings_file_key', properties: ['file'] }],
  indexes: [
    { name: 'stream_recordings_by_session', properties: ['sessionId'] },
    { name: 'stream_recordings_by_workspace', properties: ['workspaceId'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'stream_recordings_workspace_id_fkey', onDelete: 'cascade' }),
    streamId: p.uuid(),
    sessionId: p.uuid(),
    file: p.text(),
    status: p.text().$type<RecordingStatus>(),
    startedAt: timestamp(),
    seconds: p.double().$type<number>().nullable(),
    bytes: p.bigint('number').nullable(),
    assetId: p.uuid().nullable(),
    error: p.text().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const streamRecordings = table(StreamRecording)
