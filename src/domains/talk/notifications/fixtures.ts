import type { Lists, Fixtures, Stage } from '../../../../test/support/stage.ts'
import { times } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  markNotificationRead: async (stage) => {
    await tell(stage)
    const { apiKey } = stage.caller
    const listed = await stage.app.send('GET /api/notifications', { apiKey })
    return { path: { id: listed.body.data[0]._id } }
  },
}

export const lists: Lists<typeof operations> = {
  listNotifications: times(tell, { query: {} }),
}

/** Notifies the caller of a failed charge. */
async function tell({ app, caller }: Stage): Promise<void> {
  const { notifications } = app.composition.services
  const data = { plan: 'Pro', reason: 'The card was declined.', day: '2026-11-24T00:00:00.000Z' }
  const happened = { type: 'billing.chargeFailed', userIds: [caller.id], actorId: null, data, workspaceId: undefined }
  await app.database.transaction(async (tx) => notifications.spreader.spread(tx, happened))
}
