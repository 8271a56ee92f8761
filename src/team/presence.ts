/** Who is there right now. Whoever keeps the sockets knows. */
export interface Presence {
  /** Those of the users who have a socket open on any node. */
  online(userIds: readonly string[]): ReadonlySet<string> | Promise<ReadonlySet<string>>
}

/** Where no sockets are kept. */
export const nobodyOnline: Presence = { online: () => new Set() }
