import { job, schedule } from '../../../core/job.ts'
import { Id, Nullable, Type } from '../../../core/schema.ts'

/** One event for some users: what they see, and which mails and messages to their devices follow. */
export const spreadNotification = job({
  name: 'notifications.spread',
  summary: 'Notify users of an event',
  queue: 'notifications',
  data: Type.Object({
    type: Type.String(),
    userIds: Type.Array(Id),
    actorId: Nullable(Id),
    data: Type.Record(Type.String(), Type.Union([Type.String({ 'x-verbatim': true }), Type.Number()])),
  }),
  run: async ({ data, effect, notifications, workspaceId }) => {
    const notices = await effect(async (tx) => notifications.dispatcher.dispatch(tx, { ...data, workspaceId }))
    notifications.inbox.announce(notices)
  },
})

/** A mail about one notification, or about all of a digest. */
export const mailNotifications = job({
  name: 'notifications.mail',
  summary: 'Write a mail about notifications',
  queue: 'notifications',
  data: Type.Object({ userId: Id, batch: Type.String() }),
  run: async ({ data, effect, notifications }) => {
    await effect(async (tx) => notifications.mails.write(tx, data))
  },
})

/** A message to one device. */
export const pushNotification = job({
  name: 'notifications.push',
  summary: 'Send a notification to a device',
  queue: 'notifications',
  data: Type.Object({ deviceId: Id, notificationId: Id, held: Type.Boolean() }),
  attempts: 8,
  backoff: { firstMs: 2_000, maxMs: 10 * 60_000 },
  run: async ({ data, effect, notifications }) => {
    const again = await notifications.devices.deliver(data)
    if (again !== undefined) await effect(async (tx) => notifications.devices.again(tx, data, again))
  },
})

export const notificationRetention = schedule({
  name: 'notifications.retention',
  summary: 'Delete notifications after 90 days',
  cron: '23 * * * *',
  run: async ({ notifications, signal }) => notifications.inbox.prune(signal),
})
