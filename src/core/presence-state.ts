import { States, type Static } from './schema.ts'

export const PresenceState = States('Presence', 'Whether a member is there', {
  online: 'Has a socket open',
  away: 'Has sockets open, and every one of them has said that the person is away',
  offline: 'Has no socket open',
})
export type PresenceState = Static<typeof PresenceState>
