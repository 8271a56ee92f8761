import type { Fixtures } from '../../../../test/support/stage.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { MINUTE } from '../../../core/clock.ts'
import { stream } from '../streams/fixtures.ts'
import { streamSessions } from '../streams/tables.ts'
import type * as operations from './operations.ts'
import { streamDestinationSamples, streamSamples } from './tables.ts'

export const fixtures: Fixtures<typeof operations> = {
  getStreamSessionSeries: async (stage) => {
    const id = await stream(stage)
    const end = Math.floor(stage.app.clock.now() / MINUTE) * MINUTE
    const shown = await stage.app.send('GET /api/streams/{id}', { apiKey: stage.owner.apiKey, path: { id } })
    const [platform] = shown.body.data.platforms
    const sessionId = uuidv7(end - MINUTE)
    const { database } = stage.app
    await streamSessions.insert(database, {
      id: sessionId,
      streamId: id,
      workspaceId: stage.workspaceId,
      ownerId: stage.owner.id,
      startedAt: new Date(end - MINUTE),
      endedAt: new Date(end - MINUTE / 3),
      endReason: 'stopped',
      destinations: [
        {
          destinationId: platform._id,
          platform: platform.platform,
          accountId: platform.accountId,
          name: platform.name,
          status: 'stopped',
          lastError: null,
        },
      ],
      peakViewers: 3,
    })
    // The second of four steps was not measured.
    const steps = [0, 20_000, 30_000].map((ms) => new Date(end - MINUTE + ms))
    await streamSamples.insertAll(
      database,
      steps.map((at) => ({
        sessionId,
        at,
        measuredMs: 10_000,
        publisherMs: 10_000,
        receivedBits: 45_000_000,
        viewers: 3,
      })),
    )
    await streamDestinationSamples.insertAll(
      database,
      steps.map((at) => ({
        sessionId,
        destinationId: platform._id,
        at,
        measuredMs: 10_000,
        liveMs: 9_500,
        sentBits: 44_000_000,
        droppedVideo: 2,
        droppedAudio: 0,
        reconnects: 0,
        status: 'live' as const,
      })),
    )
    return { path: { id, sessionId } }
  },
}
