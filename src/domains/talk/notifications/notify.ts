import type { Static, TObject } from 'typebox'
import { SECOND } from '../../../core/clock.ts'
import type { Jobs } from '../../../core/job.ts'
import type { NotificationType } from '../../../core/notification.ts'
import type { Transaction } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { spreadNotification } from './jobs.ts'

/** Longer texts are cut. */
const CHARACTERS = 500
/** Recipients that one job notifies. */
const AT_ONCE = 100

export interface Notified<D> {
  /** The users to notify. Those who cannot see it are left out, and so is the actor. */
  readonly to: Iterable<string>
  /** Who caused it; null or absent for the service itself. */
  readonly actorId?: string | null | undefined
  readonly data: D
  /** The time, for a type with `settleSeconds`. */
  readonly now?: number
}

/** Notifies users of what a turn has done. They are notified after its commit, and never if it fails. */
export function notify<S extends TObject>(turn: Turn, type: NotificationType<S>, notified: Notified<Static<S>>): void {
  const { now = 0 } = notified
  const options = type.settleSeconds === undefined ? {} : { runAt: new Date(now + type.settleSeconds * SECOND) }
  for (const data of batches(type, notified)) turn.job(spreadNotification, data, options)
}

/** The same in another transaction, about something outside of workspaces. */
export async function notifyIn<S extends TObject>(
  jobs: Jobs,
  tx: Transaction,
  type: NotificationType<S>,
  notified: Notified<Static<S>>,
): Promise<void> {
  for (const data of batches(type, notified)) await jobs.add(tx, spreadNotification, data)
}

function batches<S extends TObject>({ name }: NotificationType<S>, { actorId = null, data, to }: Notified<Static<S>>) {
  const userIds = [...new Set(to)].filter((userId) => userId !== actorId).toSorted()
  const fields = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, cut(value as string | number)]))
  const jobs = []
  for (let start = 0; start < userIds.length; start += AT_ONCE) {
    jobs.push({ type: name, userIds: userIds.slice(start, start + AT_ONCE), actorId, data: fields })
  }
  return jobs
}

function cut(value: string | number): string | number {
  if (typeof value === 'number' || value.length <= CHARACTERS) return value
  // Not within a surrogate pair.
  return `${value.slice(0, CHARACTERS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
