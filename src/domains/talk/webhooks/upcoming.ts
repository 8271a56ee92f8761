import type { Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { WorkspaceLogs } from '../../../core/workspace-logs.ts'
import { atMost, not } from '../../../db/condition.ts'
import type { Services } from '../../../core/services.ts'
import { messageOf, type Message } from './message.ts'
import { isWanted } from './patterns.ts'
import type { DeliveryKind } from './states.ts'
import { webhookDeliveries, type DeliveryRow, type WebhookRow } from './tables.ts'

/** Messages that are read at once. */
const PAGE = 25

/** What an endpoint gets next. */
export interface Work {
  readonly messages: readonly (Message | DeliveryRow)[]
  /** The event up to which the log was read; undefined for deliveries that are repeated. */
  readonly reached: number | undefined
}

type Workspaces = Services['workspaces']

/** Finds what an endpoint gets next: deliveries whose time has come, then events of the log. */
export class Upcoming {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #logs: WorkspaceLogs
  readonly #workspaces: Workspaces

  constructor(sql: Sql, clock: Clock, logs: WorkspaceLogs, workspaces: Workspaces) {
    this.#sql = sql
    this.#clock = clock
    this.#logs = logs
    this.#workspaces = workspaces
  }

  /** @returns undefined if there is nothing to send now */
  async next(webhook: WebhookRow): Promise<Work | 'reader_left' | undefined> {
    const now = this.#clock.now()
    if (webhook.blockedUntil !== null && Date.parse(webhook.blockedUntil) > now) return undefined
    const due = {
      webhookId: webhook.id,
      status: 'pending',
      kind: not<DeliveryKind>('test'),
      nextAttemptAt: atMost(new Date(now)),
    } as const
    const pending = await webhookDeliveries.find(this.#sql, due, { orderBy: ['seq asc', 'id asc'], limit: PAGE })
    if (pending.length > 0) return { messages: pending, reached: undefined }
    const reader = await this.reader(webhook)
    if (reader === undefined) return 'reader_left'
    return this.#fromLog(webhook, reader)
  }

  /** The member whose rights decide what the endpoint gets, with the limits of the API key that set them. */
  async reader({ readerId, readerScopes, workspaceId }: WebhookRow): Promise<Member | undefined> {
    const member = await this.#workspaces.memberships.find(workspaceId, readerId)
    if (member === undefined || readerScopes === null) return member
    return { ...member, scopes: new Set(readerScopes.filter((scope) => member.scopes.has(scope))) }
  }

  async #fromLog({ cursor, events, workspaceId }: WebhookRow, reader: Member): Promise<Work | undefined> {
    const page = await this.#workspaces.eventLog.read(reader, cursor, PAGE, (type) => isWanted(events, type))
    if (page.reset) {
      // Either the next events were deleted because of their age, or the database was restored from a backup.
      const oldest = await this.#logs.oldestEvent(this.#sql, workspaceId)
      return { messages: [], reached: page.after === 0 || oldest === undefined ? page.lastSeq : oldest - 1 }
    }
    if (page.after === cursor) return undefined
    return { messages: page.events.map((event) => messageOf(workspaceId, event)), reached: page.after }
  }
}
