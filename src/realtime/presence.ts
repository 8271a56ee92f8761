import { sql as raw } from 'kysely'
import { SECOND, type Clock } from '../core/clock.ts'
import { secretToken } from '../tools/id.ts'
import type { Logger } from '../core/log.ts'
import type { Sql } from '../core/sql.ts'
import type { Coordination } from '../coordination/coordination.ts'
import type { PresenceState } from '../core/presence-state.ts'
import { anyOf } from '../db/condition.ts'
import { query } from '../db/query.ts'
import { PresenceMap, type Here, type PresenceNotice } from './presence-map.ts'
import { userPresence } from './tables.ts'

export interface PresenceOptions {
  readonly sql: Sql
  readonly coordination: Coordination
  readonly clock: Clock
  readonly log: Logger
  /** Called when the presence of users has changed, as the members of their workspaces should see it. */
  readonly onChange: (changes: readonly PresenceChange[]) => void
}

export interface PresenceChange {
  readonly userId: string
  readonly state: PresenceState
  /** When an offline user was last seen. */
  readonly lastSeenAt: string | null
}

export const PRESENCE_LIMITS = {
  /** A user who returns within this time, by reloading a page for example, was never offline. */
  graceMs: 5 * SECOND,
  beatMs: 5 * SECOND,
  /** A node that is silent for this long is considered dead, and its users are offline. */
  silentMs: 16 * SECOND,
  /** How often the time of a connected user is written. */
  seenMs: 60 * SECOND,
  /** Changes are collected for this long before they are published. */
  tickMs: 100,
} as const

const CHANNEL = 'presence'

/** Writes when users were last seen. Never moves a time back. */
const writeSeen = query({ userPresence }, (db, $: { userIds: readonly string[]; times: readonly string[] }) =>
  db
    .insertInto('userPresence')
    .columns(['userId', 'seenAt'])
    .expression((e) =>
      e
        .selectFrom(
          raw<{ userId: string; seenAt: string }>`unnest(${$.userIds}::uuid[], ${$.times}::timestamptz[])`.as<'s'>(
            raw`s (user_id, seen_at)`,
          ),
        )
        .select(['s.userId', 's.seenAt']),
    )
    .onConflict((conflict) =>
      conflict
        .column('userId')
        .doUpdateSet((e) => ({ seenAt: e.fn<string>('greatest', ['userPresence.seenAt', 'excluded.seenAt']) })),
    ),
)

/**
 * The presence of users across all nodes. Each node publishes its changes with a version number. A regular heartbeat
 * with the newest number lets the other nodes detect missed changes and dead nodes.
 */
export class Presence {
  readonly #options: PresenceOptions
  readonly #node = secretToken(9)
  readonly #map = new PresenceMap()
  /** Users whose change has not been published to the other nodes yet. */
  readonly #untold = new Set<string>()
  /** The state that was last announced of each user who is not offline. */
  readonly #shown = new Map<string, Here>()
  /** When the change of a user is due to be announced; monotonic milliseconds. */
  readonly #due = new Map<string, number>()
  /** Times to write, by user, in milliseconds since the epoch. */
  #unwritten = new Map<string, number>()
  readonly #ends: (() => void)[]
  #version = 0
  #beatAt: number
  #seenAt: number

  constructor(options: PresenceOptions) {
    this.#options = options
    const { clock, coordination } = options
    this.#beatAt = clock.monotonic()
    this.#seenAt = this.#beatAt
    const timer = setInterval(() => this.#tick(), PRESENCE_LIMITS.tickMs).unref()
    this.#ends = [
      () => clearInterval(timer),
      coordination.subscribe(CHANNEL, (notice) => this.#hear(notice as PresenceNotice)),
      coordination.onRecovered(() => this.#say({ node: this.#node, ask: null })),
    ]
    this.#say({ node: this.#node, ask: null })
  }

  /** Sets the state of a user on this node; undefined when their last socket has closed. */
  set(userId: string, state: Here | undefined): void {
    const { own } = this.#map
    if (own.get(userId) === state) return
    if (state === undefined) {
      own.delete(userId)
      this.#unwritten.set(userId, this.#options.clock.now())
    } else {
      own.set(userId, state)
    }
    this.#untold.add(userId)
    this.#touch(userId)
  }

  /** The current states of users, and when offline users were last seen. */
  async of(userIds: readonly string[]): Promise<Map<string, { state: PresenceState; lastSeenAt: string | null }>> {
    const states = new Map(userIds.map((id) => [id, this.#map.stateOf(id)]))
    const gone = userIds.filter((id) => states.get(id) === 'offline')
    const rows = gone.length === 0 ? [] : await userPresence.find(this.#options.sql, { userId: anyOf(gone) })
    const seen = new Map(rows.map((row) => [row.userId, row.seenAt]))
    return new Map([...states].map(([id, state]) => [id, { state, lastSeenAt: seen.get(id) ?? null }]))
  }

  /** Publishes to the other nodes that the users of this node have left. */
  async close(): Promise<void> {
    for (const end of this.#ends) end()
    this.#say({ node: this.#node, gone: true })
    this.#markSeen()
    await this.#writeDown()
  }

  #hear(notice: PresenceNotice): void {
    if (notice.node === this.#node) return
    if ('ask' in notice) {
      if (notice.ask === null || notice.ask === this.#node) this.#sayAll()
      return
    }
    const { touched, ask } = this.#map.hear(notice, this.#options.clock.monotonic())
    if (ask) this.#say({ node: this.#node, ask: notice.node })
    for (const userId of touched) this.#touch(userId)
  }

  #touch(userId: string): void {
    const state = this.#map.stateOf(userId)
    const now = this.#options.clock.monotonic()
    if (state === (this.#shown.get(userId) ?? 'offline')) this.#due.delete(userId)
    else if (state !== 'offline') this.#due.set(userId, now)
    else if (!this.#due.has(userId)) this.#due.set(userId, now + PRESENCE_LIMITS.graceMs)
  }

  #tick(): void {
    const { clock } = this.#options
    const now = clock.monotonic()
    for (const userId of this.#map.dropSilent(now - PRESENCE_LIMITS.silentMs)) this.#touch(userId)
    this.#tell()
    if (now - this.#beatAt >= PRESENCE_LIMITS.beatMs) {
      this.#beatAt = now
      this.#say({ node: this.#node, version: this.#version, beat: true })
    }
    if (now - this.#seenAt >= PRESENCE_LIMITS.seenMs) {
      this.#seenAt = now
      this.#markSeen()
    }
    this.#show(now)
    void this.#writeDown()
  }

  #tell(): void {
    if (this.#untold.size === 0) return
    const changes = [...this.#untold].map((userId) => [userId, this.#map.own.get(userId) ?? null] as const)
    this.#untold.clear()
    this.#version += 1
    this.#say({ node: this.#node, version: this.#version, changes })
  }

  #show(now: number): void {
    const changes: PresenceChange[] = []
    for (const [userId, due] of this.#due) {
      if (due > now) continue
      this.#due.delete(userId)
      const state = this.#map.stateOf(userId)
      if (state === 'offline') this.#shown.delete(userId)
      else this.#shown.set(userId, state)
      const lastSeenAt =
        state === 'offline' ? new Date(this.#options.clock.now() - PRESENCE_LIMITS.graceMs).toISOString() : null
      changes.push({ userId, state, lastSeenAt })
    }
    if (changes.length > 0) this.#options.onChange(changes)
  }

  #markSeen(): void {
    const now = this.#options.clock.now()
    for (const userId of this.#map.own.keys()) this.#unwritten.set(userId, now)
  }

  async #writeDown(): Promise<void> {
    if (this.#unwritten.size === 0) return
    const { log, sql } = this.#options
    // Sorted, so that nodes lock rows in the same order and never deadlock.
    const seen = [...this.#unwritten].sort(([a], [b]) => a.localeCompare(b))
    this.#unwritten = new Map()
    try {
      await writeSeen.run(sql, {
        userIds: seen.map(([userId]) => userId),
        times: seen.map(([, at]) => new Date(at).toISOString()),
      })
    } catch (error) {
      // Not essential: it is written again within a minute.
      log.warn({ error }, 'could not write when users were last seen')
    }
  }

  #sayAll(): void {
    // Includes the unpublished changes, which must not be published again under a later version.
    this.#untold.clear()
    this.#version += 1
    this.#say({ node: this.#node, version: this.#version, all: [...this.#map.own] })
  }

  #say(notice: PresenceNotice): void {
    this.#options.coordination.publish(CHANNEL, notice)
  }
}
