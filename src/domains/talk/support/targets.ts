import { HOUR } from '../../../core/clock.ts'
import { PRIORITIES, type Priority } from './states.ts'
import type { TicketRow } from './tables.ts'

/** Hours within which a ticket is to be answered and resolved, for each priority. */
export interface Targets {
  readonly firstResponse: Readonly<Record<Priority, number>>
  readonly resolution: Readonly<Record<Priority, number>>
}

/** The targets by the settings, which have four numbers of hours: low, normal, high, urgent. */
export function targetsOf(firstResponse: readonly number[], resolution: readonly number[]): Targets {
  const by = (hours: readonly number[]) =>
    Object.fromEntries(PRIORITIES.map((priority, index) => [priority, hours[index] ?? 24])) as Record<Priority, number>
  return { firstResponse: by(firstResponse), resolution: by(resolution) }
}

/** When a ticket is to be answered and resolved, and whether it is late. */
export function dueTimes(
  { createdAt, firstResponseAt, priority, resolvedAt }: TicketRow,
  { firstResponse, resolution }: Targets,
  now: number,
) {
  const start = Date.parse(createdAt)
  const responseDue = start + firstResponse[priority] * HOUR
  const resolutionDue = start + resolution[priority] * HOUR
  return {
    firstResponseDueAt: new Date(responseDue).toISOString(),
    resolutionDueAt: new Date(resolutionDue).toISOString(),
    isOverdue: resolvedAt === null && ((firstResponseAt === null && now > responseDue) || now > resolutionDue),
  }
}
