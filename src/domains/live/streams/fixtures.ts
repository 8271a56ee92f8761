import { DAY } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { make, times, type Fixtures, type Lists, type Rows, type Stage } from '../../../../test/support/stage.ts'
import { rtmpDestination } from '../destinations/fixtures.ts'
import { announceMedia } from '../media-nodes/fixtures.ts'
import type * as operations from './operations.ts'
import { streamSessions } from './tables.ts'

export const rows: Rows = {
  streams: stream,
}

export const fixtures: Fixtures<typeof operations> = {
  goLive: async (stage) => {
    announceMedia(stage)
    return {}
  },
  stopStream: async (stage) => ({ path: { id: await startedStream(stage) } }),
  switchInput: async (stage) => {
    announceMedia(stage)
    return { error: 'conflict' }
  },
  retryDestination: async (stage) => {
    const id = await startedStream(stage)
    const shown = await stage.app.send('GET /api/streams/{id}', { apiKey: stage.owner.apiKey, path: { id } })
    return { path: { id, destinationId: shown.body.data.platforms[0]._id } }
  },
}

export const lists: Lists<typeof operations> = {
  listStreams: times((stage) => stream(stage)),
  listStreamSessions: async (stage, many) => {
    const id = await stream(stage)
    // Lists follow the ids, so the oldest gets the first one.
    const starts = Array.from({ length: many }, (_, index) => stage.app.clock.now() - (many - index) * DAY)
    await streamSessions.insertAll(
      stage.app.database,
      starts.map((at) => ({
        id: uuidv7(at),
        streamId: id,
        workspaceId: stage.workspaceId,
        ownerId: stage.owner.id,
        startedAt: new Date(at),
        destinations: [],
      })),
    )
    return { path: { id } }
  },
}

/** Creates a stream with one destination. */
export async function stream(stage: Stage): Promise<string> {
  const platforms = [{ platform: 'custom', accountId: await rtmpDestination(stage) }]
  return make(stage, 'POST /api/streams', { workspaceId: stage.workspaceId, title: 'A stream', platforms })
}

/** Creates a stream that waits for its publisher. */
async function startedStream(stage: Stage): Promise<string> {
  announceMedia(stage)
  const id = await stream(stage)
  const { apiKey } = stage.owner
  const reply = await stage.app.send('POST /api/streams/{id}/go-live', {
    apiKey,
    path: { id },
    body: { waitForIngest: true },
  })
  if (reply.status !== 200) throw new Error(`a stream for a fixture did not start: ${reply.text}`)
  return id
}
