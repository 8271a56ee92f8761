/** Whether somebody is there: `away` when every program of theirs has said so, `offline` without a socket. */
export interface PresenceOfUser {
  readonly state: 'online' | 'away' | 'offline'
  /** When they last had a socket, while they have none; null when they never had one. */
  readonly lastSeenAt: string | null
}

/** Who is there right now. Whoever keeps the sockets knows. */
export interface Presence {
  /** Every one of the users; those who have a socket open on any node are not offline. */
  of(userIds: readonly string[]): Promise<ReadonlyMap<string, PresenceOfUser>>
}

/** Where no sockets are kept. */
export const nobodyOnline: Presence = {
  of: async (userIds) => new Map(userIds.map((id) => [id, { state: 'offline', lastSeenAt: null }])),
}
