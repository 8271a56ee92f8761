import type { PresenceState } from '../core/presence-state.ts'

export type Here = Exclude<PresenceState, 'offline'>
/** States of users. Null means offline. */
export type Changes = readonly (readonly [userId: string, state: Here | null])[]

/** A message to the other nodes. Each message of changes has the next version, so that a lost one is noticed. */
export type PresenceNotice =
  | { readonly node: string; readonly version: number; readonly changes: Changes }
  | { readonly node: string; readonly version: number; readonly all: Changes }
  | { readonly node: string; readonly version: number; readonly beat: true }
  | { readonly node: string; readonly gone: true }
  /** Asks one node, or all nodes, for all their users. */
  | { readonly node: string; readonly ask: string | null }

interface Other {
  version: number
  seenAt: number
  readonly users: Map<string, Here>
}

/** The users of this node, and those that other nodes have reported. */
export class PresenceMap {
  readonly own = new Map<string, Here>()
  readonly #others = new Map<string, Other>()

  stateOf(userId: string): PresenceState {
    let state: PresenceState = this.own.get(userId) ?? 'offline'
    for (const { users } of this.#others.values()) {
      const there = users.get(userId)
      if (there === 'online') return 'online'
      if (there === 'away' && state === 'offline') state = 'away'
    }
    return state
  }

  /**
   * Applies a message of another node.
   * @returns the users whose state may have changed, and whether the node must be asked for all its users
   */
  hear(notice: PresenceNotice, now: number): { readonly touched: readonly string[]; readonly ask: boolean } {
    if ('ask' in notice) return NOTHING
    if ('gone' in notice) return { touched: this.#drop(notice.node), ask: false }
    const known = this.#others.get(notice.node)
    if ('all' in notice) {
      const users = new Map(notice.all.filter((entry): entry is [string, Here] => entry[1] !== null))
      this.#others.set(notice.node, { version: notice.version, seenAt: now, users })
      return { touched: [...new Set([...(known?.users.keys() ?? []), ...users.keys()])], ask: false }
    }
    if (known === undefined) return { touched: [], ask: true }
    known.seenAt = now
    if ('beat' in notice) return { touched: [], ask: notice.version !== known.version }
    if (notice.version !== known.version + 1) return { touched: [], ask: true }
    known.version = notice.version
    for (const [userId, state] of notice.changes) {
      if (state === null) known.users.delete(userId)
      else known.users.set(userId, state)
    }
    return { touched: notice.changes.map(([userId]) => userId), ask: false }
  }

  /** Removes nodes that have been silent since a time. @returns their users */
  dropSilent(since: number): string[] {
    const silent = [...this.#others].filter(([, { seenAt }]) => seenAt < since)
    return silent.flatMap(([node]) => this.#drop(node))
  }

  #drop(node: string): string[] {
    const users = [...(this.#others.get(node)?.users.keys() ?? [])]
    this.#others.delete(node)
    return users
  }
}

const NOTHING = { touched: [], ask: false }
