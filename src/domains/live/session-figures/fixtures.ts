import type { Fixtures } from '../../../../test/support/stage.ts'
import { uuidv7 } from '../../../core/id.ts'
import { MINUTE } from '../../../core/clock.ts'
import { stream } from '../streams/fixtures.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  getStreamSessionSeries: async (stage) => {
    const id = await stream(stage)
    const end = Math.floor(stage.app.clock.now() / MINUTE) * MINUTE
    const shown = await stage.app.send('GET /api/streams/{id}', { apiKey: stage.owner.apiKey, path: { id } })
    const [platform] = shown.body.data.platforms
    const sessionId = uuidv7(end - MINUTE)
    const destination = {
      destinationId: platform._id,
      platform: platform.platform,
      accountId: platform.accountId,
      name: platform.name,
      status: 'stopped',
      lastError: null,
    }
    await stage.app.database.run(
      `insert into stream_sessions (id, stream_id, workspace_id, owner_id, started_at, ended_at, end_reason, destinations, peak_viewers)
       values ($1, $2, $3, $4, $5, $6, 'stopped', $7, 3)`,
      [
        sessionId,
        id,
        stage.workspaceId,
        stage.owner.id,
        new Date(end - MINUTE),
        new Date(end - MINUTE / 3),
        JSON.stringify([destination]),
      ],
    )
    // The second of four steps was not measured.
    const steps = [0, 20_000, 30_000].map((ms) => new Date(end - MINUTE + ms))
    await stage.app.database.run(
      `insert into stream_samples select $1, at, 10000, 10000, 4.5e7, 3 from unnest($2::timestamptz[]) s(at)`,
      [sessionId, steps],
    )
    await stage.app.database.run(
      `insert into stream_destination_samples
       select $1, $2, at, 10000, 9500, 4.4e7, 2, 0, 0, 'live' from unnest($3::timestamptz[]) s(at)`,
      [sessionId, platform._id, steps],
    )
    return { path: { id, sessionId } }
  },
}
