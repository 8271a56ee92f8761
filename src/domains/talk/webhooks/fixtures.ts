import {
  inWorkspace,
  make,
  times,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { waitFor } from '../../../../test/support/wait.ts'
import type * as operations from './operations.ts'
import { webhookDeliveries } from './tables.ts'

export const rows: Rows = { webhooks: (stage) => webhook(stage) }

export const lists: Lists<typeof operations> = {
  listWebhooks: times((stage) => webhook(stage)),
  listWebhookDeliveries: async (stage, count) => {
    const id = await webhook(stage)
    for (let sent = 0; sent < count; sent += 1) await test(stage, id)
    return { path: { id } }
  },
}

export const fixtures: Fixtures<typeof operations> = {
  replayWebhookDelivery: async (stage) => {
    const id = await webhook(stage, ['*'])
    const { apiKey } = stage.owner
    await stage.app.send('POST /api/webhooks/{id}/replay', { apiKey, path: { id }, body: { after: 0 } })
    const listed = await stage.app.send('GET /api/webhooks/{id}/deliveries', { apiKey, path: { id } })
    return { path: { id, deliveryId: listed.body.data[0]._id } }
  },
  replayWebhookEvents: async (stage) => ({ path: { id: await webhook(stage, ['*']) }, body: { after: 0 } }),
}

/**
 * An endpoint that does not exist, so that nothing leaves the machine. By default, nothing happens that it is sent, so it
 * does not begin to fail while a test looks at it.
 */
function webhook(stage: Stage, events = ['stream.created']): Promise<string> {
  return make(stage, 'POST /api/webhooks', {
    ...inWorkspace(stage),
    url: 'https://hooks.example.invalid/crier',
    events,
  })
}

/** Sends a test, and waits until it has failed, so that the delivery is always the same. */
async function test({ app, owner }: Stage, id: string): Promise<void> {
  const reply = await app.send('POST /api/webhooks/{id}/test', { apiKey: owner.apiKey, path: { id } })
  if (reply.status !== 202) throw new Error(`a delivery for a fixture: ${reply.text}`)
  // Not by requests: each one advances the clock of recorded examples, and the job would lose its lease.
  const isOver = async () => {
    const open = await webhookDeliveries.find(app.database, { webhookId: id, status: 'pending' })
    return open.length === 0
  }
  await waitFor(isOver, { what: 'the end of the delivery' })
}
