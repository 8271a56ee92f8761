import type { Domain } from '../domain.ts'
import type { EventType } from '../core/event.ts'
import { domains } from './domains.ts'

/** Every event type that a workspace can see, by its name. */
export const eventTypes: ReadonlyMap<string, EventType> = byName()

function byName(): Map<string, EventType> {
  const types = new Map<string, EventType>()
  for (const type of domains.flatMap(({ events = {} }: Domain) => Object.values(events))) {
    if (types.has(type.name)) throw new Error(`event ${type.name} is declared twice`)
    types.set(type.name, type)
  }
  return types
}
