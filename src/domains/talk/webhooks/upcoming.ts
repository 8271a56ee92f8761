import type { Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { LoggedEvent, WorkspaceLogs } from '../../../core/workspace-logs.ts'
import { atMost, not } from '../../../db/condition.ts'
import type { Services } from '../../../core/services.ts'
import { messageOf, type Message } from './message.ts'
import { isWanted } from './patterns.ts'
import type { Served } from './served.ts'
import type { DeliveryKind } from './states.ts'
import { webhookDeliveries, type DeliveryRow, type WebhookRow } from './tables.ts'

/** Messages that are read at once. */
const PAGE = 25
/** How long a page of events is kept for other endpoints with the same reader. */
const SHARED_MS = 1_000

/** What an endpoint gets next. */
export interface Work {
  readonly messages: readonly (Message | DeliveryRow)[]
  /** The event up to which the log was read; undefined for deliveries that are repeated. */
  readonly reached: number | undefined
}

type Workspaces = Services['workspaces']
type Page = Awaited<ReturnType<Workspaces['eventLog']['read']>>

/** Finds what an endpoint gets next: deliveries whose time has come, then events of the log. */
export class Upcoming {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #logs: WorkspaceLogs
  readonly #workspaces: Workspaces
  /** Pages of events that endpoints share, because most are at the end of the log. */
  readonly #pages = new Map<string, Promise<Page>>()
  readonly #messages = new WeakMap<LoggedEvent, Message>()

  constructor(sql: Sql, clock: Clock, logs: WorkspaceLogs, workspaces: Workspaces) {
    this.#sql = sql
    this.#clock = clock
    this.#logs = logs
    this.#workspaces = workspaces
  }

  /** @returns undefined if there is nothing to send now */
  async next(webhook: WebhookRow, served: Served): Promise<Work | 'reader_left' | undefined> {
    const now = this.#clock.now()
    if (webhook.blockedUntil !== null && Date.parse(webhook.blockedUntil) > now) return undefined
    if (served.mustLook) {
      served.looked()
      const pending = await this.#pending(webhook.id, now)
      if (pending.length > 0) {
        // There may be more of them.
        served.nudge()
        return { messages: pending, reached: undefined }
      }
    }
    if (served.newest > 0 && webhook.cursor >= served.newest) return undefined
    const reader = await this.reader(webhook)
    if (reader === undefined) return 'reader_left'
    return this.#fromLog(webhook, reader, served)
  }

  /** The member whose rights decide what the endpoint gets, with the limits of the API key that set them. */
  async reader(webhook: WebhookRow): Promise<Member | undefined> {
    return limited(await this.#workspaces.memberships.find(webhook.workspaceId, webhook.readerId), webhook)
  }

  /** The same, without the cache. */
  async #currentReader(webhook: WebhookRow): Promise<Member | undefined> {
    const [member] = await this.#workspaces.memberships.among(webhook.workspaceId, [webhook.readerId])
    return limited(member, webhook)
  }

  #pending(webhookId: string, now: number): Promise<DeliveryRow[]> {
    const kind = not<DeliveryKind>('test')
    const due = { webhookId, status: 'pending', kind, nextAttemptAt: atMost(new Date(now)) } as const
    return webhookDeliveries.find(this.#sql, due, { orderBy: ['seq asc', 'id asc'], limit: PAGE })
  }

  async #fromLog(webhook: WebhookRow, reader: Member, served: Served): Promise<Work | 'reader_left' | undefined> {
    const { cursor, events, workspaceId } = webhook
    // An endpoint that is far behind reads only what it gets.
    const isNear = served.newest > 0 && served.newest - cursor <= PAGE
    const shared = isNear ? await this.#shared(webhook, reader) : undefined
    // Another endpoint may have begun to read before the newest event was committed.
    const isShared = shared !== undefined && (shared.reset || shared.after > cursor)
    const heard = served.newest
    const read = (member: Member) =>
      this.#workspaces.eventLog.read(member, { after: cursor }, PAGE, (type) => isWanted(events, type))
    let page = isShared ? shared : await read(reader)
    // The page may have events from after a change that the cache of members does not know yet, such as the one that removed
    // the reader. Without a look at the database, it would be sent, and nothing later would stop the webhook.
    for (let rights = reader; !page.reset && page.after > cursor;) {
      const current = await this.#currentReader(webhook)
      if (current === undefined) return 'reader_left'
      if (hasSameScopes(current, rights)) break
      rights = current
      page = await read(rights)
    }
    if (page.reset) {
      // Either the next events were deleted because of their age, or the database was restored from a backup.
      const oldest = await this.#logs.oldestEvent(this.#sql, workspaceId)
      return { messages: [], reached: page.after === 0 || oldest === undefined ? page.lastSeq : oldest - 1 }
    }
    if (page.after === cursor) {
      if (served.newest === heard) served.newest = page.lastSeq
      return undefined
    }
    const wanted = page.events.filter(({ type }) => isWanted(events, type))
    return { messages: wanted.map((event) => this.#messageOf(workspaceId, event)), reached: page.after }
  }

  /** The page after the cursor, read once for all endpoints of the same reader that have come as far. */
  #shared({ cursor, readerId, readerScopes, workspaceId }: WebhookRow, reader: Member): Promise<Page> {
    const key = [workspaceId, readerId, readerScopes?.join() ?? '', cursor].join(' ')
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const reading = this.#workspaces.eventLog.read(reader, { after: cursor }, PAGE)
    this.#pages.set(key, reading)
    const forget = () => void (this.#pages.get(key) === reading && this.#pages.delete(key))
    // An empty page says nothing about what is committed later.
    reading.then(
      ({ after, reset }) => void (reset || after === cursor ? forget() : setTimeout(forget, SHARED_MS).unref()),
      forget,
    )
    return reading
  }

  #messageOf(workspaceId: string, event: LoggedEvent): Message {
    const known = this.#messages.get(event)
    if (known !== undefined) return known
    const made = messageOf(workspaceId, event)
    this.#messages.set(event, made)
    return made
  }
}

/** A reader with the limits of the API key that set it. */
function limited(member: Member | undefined, { readerScopes }: WebhookRow): Member | undefined {
  if (member === undefined || readerScopes === null) return member
  return { ...member, scopes: new Set(readerScopes.filter((scope) => member.scopes.has(scope))) }
}

function hasSameScopes(one: Member, other: Member): boolean {
  return one.scopes.size === other.scopes.size && one.scopes.isSubsetOf(other.scopes)
}
