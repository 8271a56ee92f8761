import { defineEntity, p } from '@mikro-orm/postgresql'
import type { RecordingStatus } from '../streams/index.ts'

const time = () => p.datetime().columnType('timestamptz')

/** A file into which a broadcast was recorded; an asset when it is whole. */
const StreamRecording = defineEntity({
  name: 'StreamRecording',
  tableName: 'stream_recordings',
  uniques: [{ name: 'stream_recordings_file_key', properties: ['file'] }],
  indexes: [
    { name: 'stream_recordings_by_session', properties: ['sessionId'] },
    { name: 'stream_recordings_by_workspace', properties: ['workspaceId'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: p.uuid(),
    streamId: p.uuid(),
    sessionId: p.uuid(),
    file: p.text(),
    status: p.text().$type<RecordingStatus>(),
    startedAt: time(),
    seconds: p.double().nullable(),
    bytes: p.bigint('number').nullable(),
    assetId: p.uuid().nullable(),
    error: p.text().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
})

export const recordingEntities = [StreamRecording]
