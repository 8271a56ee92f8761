import type { EventType } from '../core/event.ts'
import * as chat from '../domains/talk/chat/events.ts'
import * as assets from '../domains/media/assets/events.ts'
import * as realtime from '../realtime/events.ts'
import * as jobs from '../jobs/events.ts'
import * as streams from '../domains/live/streams/events.ts'
import * as team from '../domains/workspace/team/events.ts'
import * as uploads from '../domains/media/uploads/events.ts'
import * as workspaces from '../domains/workspace/workspaces/events.ts'

/** Every event that a workspace can see, by domain. */
const declared: Readonly<Record<string, Readonly<Record<string, EventType>>>> = {
  assets,
  chat,
  realtime: { chatTyping: realtime.chatTyping, presenceChanged: realtime.presenceChanged },
  jobs,
  streams,
  team,
  uploads,
  workspaces,
}

/** Every event type by its name. */
export const eventTypes: ReadonlyMap<string, EventType> = byName()

function byName(): Map<string, EventType> {
  const types = new Map<string, EventType>()
  for (const type of Object.values(declared).flatMap((domain) => Object.values(domain))) {
    if (types.has(type.name)) throw new Error(`event ${type.name} is declared twice`)
    types.set(type.name, type)
  }
  return types
}
