import { States, type Static } from './schema.ts'

export const PresenceState = States('Presence', 'Whether a member is there', {
  online: 'Has a socket open',
  away: 'Has open sockets, and all of them report that the user is away',
  offline: 'Has no socket open',
})
export type PresenceState = Static<typeof PresenceState>
