import type { NotificationType } from '../core/notification.ts'
import type { Domain } from '../domain.ts'
import { domains } from './domains.ts'

/** Every type of notification, by its name. */
export const notificationTypes: ReadonlyMap<string, NotificationType> = byName()

function byName(): Map<string, NotificationType> {
  const types = new Map<string, NotificationType>()
  for (const type of domains.flatMap(({ notifications = {} }: Domain) => Object.values(notifications))) {
    if (types.has(type.name)) throw new Error(`notification ${type.name} is declared twice`)
    types.set(type.name, type)
  }
  return types
}
