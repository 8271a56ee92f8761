import type { Lists, Fixtures, Stage } from '../../../../test/support/stage.ts'
import { times } from '../../../../test/support/stage.ts'
import { findReaders } from '../../identity/users/index.ts'
import type * as operations from './operations.ts'
import type * as pushOperations from './push/operations.ts'
import type * as unsubscribeOperations from './unsubscribe-operations.ts'

type Operations = typeof operations & typeof pushOperations & typeof unsubscribeOperations

export const fixtures: Fixtures<Operations> = {
  openUnsubscribePage: async (stage) => ({ path: { token: await token(stage) } }),
  // A page is not kept for a repetition with the same key. Repeating it does the same again.
  unsubscribeFromMails: async (stage) => ({ path: { token: await token(stage) }, once: true }),
  unregisterDevice: async (stage) => ({ path: { id: await device(stage) } }),
  markNotificationRead: async (stage) => {
    await tell(stage)
    const { apiKey } = stage.caller
    const listed = await stage.app.send('GET /api/notifications', { apiKey })
    return { path: { id: listed.body.data[0]._id } }
  },
}

export const lists: Lists<Operations> = {
  listDevices: times(device, { query: {} }),
  listNotifications: times(tell, { query: {} }),
}

/** Notifies the caller of a failed charge. */
async function tell({ app, caller }: Stage): Promise<void> {
  const { notifications } = app.composition.services
  const data = { plan: 'Pro', reason: 'The card was declined.', day: '2026-11-24T00:00:00.000Z' }
  const happened = { type: 'billing.chargeFailed', userIds: [caller.id], actorId: null, data, workspaceId: undefined }
  await app.database.transaction(async (tx) => notifications.spreader.spread(tx, happened))
}

let devices = 0

/** A subscription at a server that does not exist. */
async function device({ app, caller }: Stage): Promise<string> {
  devices += 1
  const keys = {
    p256dh: 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
    auth: 'tBHItJI5svbpez7KI4CCXg',
  }
  const subscription = { endpoint: `https://push.example.invalid/${devices}`, keys }
  const body = { kind: 'web', name: 'Firefox on Linux', subscription }
  const reply = await app.send('POST /api/users/me/devices', { apiKey: caller.apiKey, body })
  if (reply.status !== 201) throw new Error(`a device for a fixture: ${reply.text}`)
  return reply.body.data._id
}

/** The token of the link in a mail to the caller. */
async function token({ app, caller }: Stage): Promise<string> {
  const [reader] = await findReaders(app.database, [caller.id])
  if (reader === undefined) throw new Error('the caller of a fixture is gone')
  const { url } = app.composition.services.notifications.unsubscriptions.linkFor(reader, ['comment'])
  return url.slice(url.lastIndexOf('/') + 1)
}
