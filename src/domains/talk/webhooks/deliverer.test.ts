import { expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { createLog } from '../../../core/log.ts'
import { Deliverer } from './deliverer.ts'
import { Seats } from './seats.ts'
import { ServedEndpoints } from './served.ts'
import type { WebhookRow } from './tables.ts'

test('passes over no events for a webhook that was changed while they were read', async () => {
  const served = new ServedEndpoints()
  const before = { id: 'hook', workspaceId: 'acme', cursor: 0, events: ['folder.*'], blockedUntil: null } as WebhookRow
  const after = { ...before, events: ['*'] }
  const read: Pick<WebhookRow, 'events' | 'cursor'>[] = []
  const released: number[] = []
  let isOn = true
  const parts = {
    served,
    seats: new Seats(createLog({ level: 'silent' })),
    isOn: () => isOn,
    wakes: { wakeOne: async () => undefined },
    leases: {
      claim: async () => [before],
      held: async () => after,
      release: async (_id: string, _from: number, cursor: number) => void released.push(cursor),
    },
    upcoming: {
      next: async ({ cursor, events }: WebhookRow) => {
        read.push({ cursor, events })
        isOn = read.length < 2
        if (read.length === 1) served.changed('acme')
        return { messages: [], reached: read.length === 1 ? 9 : 5 }
      },
    },
  }
  const deliverer = new Deliverer({ clock: systemClock, turns: undefined as never }, parts as never)
  await deliverer.start(['hook'])
  await expect.poll(() => released).toEqual([5])
  expect(read).toEqual([
    { cursor: 0, events: ['folder.*'] },
    { cursor: 0, events: ['*'] },
  ])
})
