import { ValidationFailed } from '../../../core/errors.ts'
import type { EventType } from '../../../core/event.ts'

/** `*` for every event, `post.*` for the events of a resource, or the name of an event. */
export function matches(pattern: string, type: string): boolean {
  return pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))
}

/** Whether one of the patterns matches. */
export function isWanted(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) => matches(pattern, type))
}

/** Events with a sequence number. Others have no place in the order, and cannot be sent again. */
export function deliverable(types: ReadonlyMap<string, EventType>): readonly string[] {
  return [...types.values()].filter(({ stored }) => stored !== false).map(({ name }) => name)
}

/** @throws AppError validation_failed if a pattern matches no event that webhooks can get */
export function checkPatterns(patterns: readonly string[], types: ReadonlyMap<string, EventType>): void {
  const names = deliverable(types)
  const errors = patterns.flatMap((pattern, index) => {
    if (names.some((name) => matches(pattern, name))) return []
    const known = [...types.keys()].some((name) => matches(pattern, name))
    const message = known
      ? `The pattern \`${pattern}\` is only sent over sockets: the event has no sequence number. Leave it out`
      : `The pattern \`${pattern}\` matches no event. Send \`*\`, a resource such as \`post.*\`, or the name of an event`
    return [{ path: `/body/events/${index}`, code: known ? 'not_stored' : 'unknown_event', message }]
  })
  if (errors.length > 0) throw ValidationFailed({ message: errors[0]?.message ?? '', errors })
}
