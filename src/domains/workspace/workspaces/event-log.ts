import type { Member } from '../../../core/caller.ts'
import type { EventType } from '../../../core/event.ts'
import type { Channels } from '../../../core/ports.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { EventView, SyncPage } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly eventLog: EventLog
  }
}

/** Numbers that one page looks at, at most: a caller who may see little still costs a bounded read. */
const WINDOW = 2_000

/** The events of a workspace after the fact: what a client that was away has missed. */
export class EventLog {
  readonly #sql: Sql
  readonly #types: ReadonlyMap<string, EventType>
  readonly #channels: Channels

  constructor(sql: Sql, types: ReadonlyMap<string, EventType>, channels: Channels) {
    this.#sql = sql
    this.#types = types
    this.#channels = channels
  }

  /** Events after a number that the member may see, in order. Applying page after page leads to the present state. */
  async after(member: Member, after: number, limit: number): Promise<Static<typeof SyncPage>> {
    // Read before the events: what is committed in between waits for the next page instead of being stepped over.
    const lastSeq = await this.#lastSeq(member.workspaceId)
    if (after > lastSeq) return { events: [], after: 0, lastSeq, hasMore: false, reset: true }
    if (after < lastSeq && (await this.#isForgotten(member.workspaceId, after + 1))) {
      return { events: [], after: lastSeq, lastSeq, hasMore: false, reset: true }
    }
    const until = Math.min(lastSeq, after + WINDOW)
    const { userId, workspaceId } = member
    const channels = (await this.#channels.of(workspaceId, [userId])).get(userId) ?? []
    const events = await this.#sql.rows<Static<typeof EventView>>(
      `select seq, type, data, at from workspace_events
       where workspace_id = $1 and seq > $2 and seq <= $3 and type = any($4)
         and (channel_id is null or channel_id = any($5)) and (user_id is null or user_id = $6)
       order by seq limit $7`,
      [workspaceId, after, until, this.#visibleTo(member), channels, userId, limit],
    )
    const reached = events.length === limit ? (events.at(-1)?.seq ?? until) : until
    return { events, after: reached, lastSeq, hasMore: reached < lastSeq, reset: false }
  }

  /** Whether a member may see events of a type; of a type that is not declared nobody may. */
  mayBeSeen(type: string, member: Member): boolean {
    const declared = this.#types.get(type)
    return declared !== undefined && member.scopes.has(declared.scope)
  }

  #visibleTo(member: Member): string[] {
    return [...this.#types.keys()].filter((type) => this.mayBeSeen(type, member))
  }

  /** Whether the event of a number is no longer kept. Numbers have no gaps: it is when the oldest kept is newer. */
  async #isForgotten(workspaceId: string, seq: number): Promise<boolean> {
    const row = await this.#sql.row<{ oldest: number | null }>(
      'select min(seq) as oldest from workspace_events where workspace_id = $1',
      [workspaceId],
    )
    return (row?.oldest ?? Number.POSITIVE_INFINITY) > seq
  }

  async #lastSeq(workspaceId: string): Promise<number> {
    const row = await this.#sql.row<{ seq: number }>('select seq from actor_fence where key = $1', [
      `ws:${workspaceId}`,
    ])
    return row?.seq ?? 0
  }
}
