import type { Member } from '../../../core/caller.ts'
import type { EventType } from '../../../core/event.ts'
import type { Channels } from '../../../core/ports.ts'
import { Provided } from '../../../core/provided.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { LoggedEvent, WorkspaceLogs } from '../../../core/workspace-logs.ts'
import type { SyncPage } from './schemas.ts'

/** How many event numbers a page covers at most, so that a read is bounded for members who may see few events. */
const WINDOW = 2_000

/** A page of events, as `SyncPage` describes it. */
type EventPage = Omit<Static<typeof SyncPage>, 'events'> & { readonly events: LoggedEvent[] }

/** Events after a number. The number is meaningless in another generation than the given one. */
interface Place {
  readonly after: number
  readonly generation?: string | undefined
}

/** The past events of a workspace, for clients that were away. */
export class EventLog {
  /** Who is in which channel. */
  readonly channels = new Provided<Channels>('the channels of members')
  readonly #sql: Sql
  readonly #logs: WorkspaceLogs
  readonly #types: ReadonlyMap<string, EventType>

  constructor(sql: Sql, logs: WorkspaceLogs, types: ReadonlyMap<string, EventType>) {
    this.#sql = sql
    this.#logs = logs
    this.#types = types
  }

  /** Events after a number that the member may see, in order. A client that applies all pages has the current state. */
  async after(member: Member, place: Place, limit: number): Promise<Static<typeof SyncPage>> {
    const { events, ...page } = await this.read(member, place, limit)
    return { ...page, events: events.map(({ at, data, seq, type }) => ({ seq, type, data, at })) }
  }

  /**
   * The same, with what is stored of each event.
   * @param wanted narrows the types of events
   */
  async read(
    member: Member,
    place: Place,
    limit: number,
    wanted: (type: string) => boolean = () => true,
  ): Promise<EventPage> {
    const { userId, workspaceId } = member
    const { after } = place
    const sql = this.#sql
    const logs = this.#logs
    // Read before the events, so that events committed in between are left for the next page and not skipped.
    const { generation, seq: lastSeq } = await logs.newestPosition(sql, workspaceId)
    const none = { events: [], lastSeq, generation, hasMore: false, reset: true }
    if (after > lastSeq) return { ...none, after: 0 }
    const isOther = place.generation !== undefined && place.generation !== generation
    if (isOther || (after < lastSeq && (await this.#isPruned(workspaceId, after + 1)))) {
      return { ...none, after: lastSeq }
    }
    const until = Math.min(lastSeq, after + WINDOW)
    const events = await logs.events(sql, {
      workspaceId,
      after,
      until,
      types: this.#visibleTo(member).filter(wanted),
      channels: (await this.channels.get().of(workspaceId, [userId])).get(userId) ?? [],
      userId,
      limit,
    })
    const reached = events.length === limit ? (events.at(-1)?.seq ?? until) : until
    return { events, after: reached, lastSeq, generation, hasMore: reached < lastSeq, reset: false }
  }

  /** Whether a member may see events of a type. Nobody may see a type that is not declared. */
  mayBeSeen(type: string, member: Member): boolean {
    const declared = this.#types.get(type)
    return declared !== undefined && member.scopes.has(declared.scope)
  }

  #visibleTo(member: Member): string[] {
    return [...this.#types.keys()].filter((type) => this.mayBeSeen(type, member))
  }

  /** Whether the event with a number was deleted. Numbers have no gaps, so it was if the oldest event is newer. */
  async #isPruned(workspaceId: string, seq: number): Promise<boolean> {
    return ((await this.#logs.oldestEvent(this.#sql, workspaceId)) ?? Number.POSITIVE_INFINITY) > seq
  }
}
