/** The presence of a user: `away` if all open sockets report it, `offline` without an open socket. */
export interface PresenceOfUser {
  readonly state: 'online' | 'away' | 'offline'
  /** When the user last had a socket open. Null if they have one now, or never had one. */
  readonly lastSeenAt: string | null
}

/** The source of presence. The socket gateway implements it. */
export interface Presence {
  /** The presence of all given users, from the sockets of all nodes. */
  of(userIds: readonly string[]): Promise<ReadonlyMap<string, PresenceOfUser>>
}

/** Used without a socket gateway: all users are offline. */
export const nobodyOnline: Presence = {
  of: async (userIds) => new Map(userIds.map((id) => [id, { state: 'offline', lastSeenAt: null }])),
}
