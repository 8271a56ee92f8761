import type { Caller } from './caller.ts'
import type { PageRequest } from './page.ts'
import type { Sql } from './sql.ts'

/** The origin of a request. */
export interface Origin {
  readonly remoteAddress: string
  readonly userAgent: string
  readonly requestId: string
}

/** An entry of the audit log: who did what in a workspace, when and from where. */
export interface AuditRecord extends Origin {
  readonly id: string
  readonly workspaceId: string
  readonly actorId: string | null
  /** `token`, `api_key` or `guest`. */
  readonly actorVia: string
  readonly apiKeyId: string | null
  /** The name of the operation. */
  readonly action: string
  readonly targetKind: string | null
  readonly targetId: string | null
  readonly details: Readonly<Record<string, unknown>> | null
  readonly createdAt: string
}

/** An audit entry that no turn writes. */
export interface NewAuditRecord {
  readonly workspaceId: string
  /** `guest`: a person without an account. `details` has the name. */
  readonly caller: Caller | 'guest'
  readonly action: string
  readonly target: { readonly kind: string; readonly id: string }
  readonly details?: Readonly<Record<string, unknown>>
  readonly at: Date
  readonly origin: Origin
}

/** A filter of audit entries. `from` is inclusive, `to` exclusive. */
export interface AuditFilter {
  readonly actorId?: readonly string[] | undefined
  readonly action?: readonly string[] | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** An event, as stored for clients that were disconnected. */
export interface LoggedEvent {
  readonly seq: number
  readonly type: string
  readonly data: unknown
  readonly at: string
  /** Whether it is of a private channel or for one member. */
  readonly personal: boolean
}

/**
 * A filter of events: a range of sequence numbers, types, and only events that are public or addressed to the channels
 * or the user.
 */
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

/** The logs that turns write for workspaces: audit entries and events. `src/turns` owns the tables. */
export interface WorkspaceLogs {
  /** Up to `limit + 1` entries for `pageOf`, newest first. */
  auditPage(sql: Sql, workspaceId: string, filter: AuditFilter, page: PageRequest): Promise<AuditRecord[]>
  /** Adds an entry for an action that is not a turn, in the caller's transaction. */
  recordAudit(sql: Sql, entry: NewAuditRecord): Promise<void>
  /** Events by sequence number. */
  events(sql: Sql, range: EventRange): Promise<LoggedEvent[]>
  /** The sequence number of the newest event; 0 if there are none. */
  newestEvent(sql: Sql, workspaceId: string): Promise<number>
  /** The same, with its `Generation`. */
  newestPosition(sql: Sql, workspaceId: string): Promise<{ readonly seq: number; readonly generation: string }>
  /** The same for several workspaces, by workspace. */
  newestEvents(sql: Sql, workspaceIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** The sequence number of the oldest stored event. */
  oldestEvent(sql: Sql, workspaceId: string): Promise<number | undefined>
  /**
   * Deletes at most `rows` old events of each workspace.
   * @returns how many were deleted; call it again until it returns 0
   */
  pruneEvents(sql: Sql, workspaceIds: readonly string[], before: Date, rows: number): Promise<number>
  /** The same for audit entries. */
  pruneAudit(sql: Sql, workspaceIds: readonly string[], before: Date, rows: number): Promise<number>
  /** Deletes all events and audit entries of a workspace in small statements. Stops early when the signal is aborted. */
  clear(sql: Sql, workspaceId: string, signal?: AbortSignal): Promise<void>
  /** Deletes all logs of workspaces that are being purged. */
  forget(sql: Sql, workspaceIds: readonly string[]): Promise<void>
}
