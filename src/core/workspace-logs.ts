import type { Caller } from './caller.ts'
import type { PageRequest } from './page.ts'
import type { Sql } from './sql.ts'

/** Where a request came from. */
export interface Origin {
  readonly remoteAddress: string
  readonly userAgent: string
  readonly requestId: string
}

/** An entry of the audit log: who did what in a workspace, when, and from where. */
export interface AuditRecord extends Origin {
  readonly id: string
  readonly workspaceId: string
  readonly actorId: string | null
  /** `token` or `api_key`. */
  readonly actorVia: string
  readonly apiKeyId: string | null
  /** The name of the operation. */
  readonly action: string
  readonly targetKind: string | null
  readonly targetId: string | null
  readonly details: Readonly<Record<string, unknown>> | null
  readonly createdAt: string
}

/** An entry that is not written by a turn. */
export interface NewAuditRecord {
  readonly workspaceId: string
  readonly caller: Caller
  readonly action: string
  readonly target: { readonly kind: string; readonly id: string }
  readonly details?: Readonly<Record<string, unknown>>
  readonly at: Date
  readonly origin: Origin
}

/** Which entries to list. `from` is inclusive, `to` exclusive. */
export interface AuditFilter {
  readonly actorId?: string | undefined
  readonly action?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** An event as it is kept for clients that were away. */
export interface LoggedEvent {
  readonly seq: number
  readonly type: string
  readonly data: unknown
  readonly at: string
}

/** Which events to read: numbers in the range, of these types, public or addressed to the channels or the user. */
export interface EventRange {
  readonly workspaceId: string
  /** Exclusive. */
  readonly after: number
  /** Inclusive. */
  readonly until: number
  readonly types: readonly string[]
  readonly channels: readonly string[]
  readonly userId: string
  readonly limit: number
}

/** What turns have recorded of workspaces: audit entries and events. `src/turns` owns the tables. */
export interface WorkspaceLogs {
  /** A page of `limit + 1` entries for `pageOf`, newest first. */
  auditPage(sql: Sql, workspaceId: string, filter: AuditFilter, page: PageRequest): Promise<AuditRecord[]>
  /** Adds the entry of something that is not a turn, in the transaction of the caller. */
  recordAudit(sql: Sql, entry: NewAuditRecord): Promise<void>
  /** Events in the order of their numbers. */
  events(sql: Sql, range: EventRange): Promise<LoggedEvent[]>
  /** The number of the newest event, or 0 without one. */
  newestEvent(sql: Sql, workspaceId: string): Promise<number>
  /** The number of the oldest event that is still kept. */
  oldestEvent(sql: Sql, workspaceId: string): Promise<number | undefined>
  /** Deletes a bounded number of old events of each workspace. @returns how many; call it again until it is none */
  pruneEvents(sql: Sql, workspaceIds: readonly string[], before: Date): Promise<number>
  /** The same for audit entries. */
  pruneAudit(sql: Sql, workspaceIds: readonly string[], before: Date): Promise<number>
  /** Deletes everything that is kept of workspaces that are being purged. */
  forget(sql: Sql, workspaceIds: readonly string[]): Promise<void>
}
