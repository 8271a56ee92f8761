import type { Caller } from '../../../core/caller.ts'
import { uuidv7 } from '../../../core/id.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Searches } from '../../../db/searches.ts'
import type { AuditEntry, AuditQuery } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly auditLog: AuditLog
  }
}

/** Where a request came from, as the pipeline knows it. */
export interface Origin {
  readonly remoteAddress: string
  readonly userAgent: string
  readonly requestId: string
}

interface AuditRow {
  id: string
  created_at: string
  actor_id: string | null
  actor_name: string | null
  actor_email: string | null
  actor_via: string
  api_key_id: string | null
  action: string
  target_kind: string | null
  target_id: string | null
  details: Record<string, unknown> | null
  remote_address: string
  user_agent: string
  request_id: string
}

const PAGE = `
  select a.id, a.created_at, a.actor_id, u.name as actor_name, u.email as actor_email, a.actor_via, a.api_key_id, a.action,
    a.target_kind, a.target_id, a.details, a.remote_address, a.user_agent, a.request_id
  from audit_log a left join users u on u.id = a.actor_id
  where a.workspace_id = $1
    and ($2::timestamptz is null or (a.created_at, a.id) < ($2, $3::uuid))
    and ($4::uuid is null or a.actor_id = $4)
    and ($5::text is null or a.action = $5)
    and ($6::timestamptz is null or a.created_at >= $6)
    and ($7::timestamptz is null or a.created_at < $7)
  order by a.created_at desc, a.id desc limit $8`

/** Who did what in a workspace, when and from where. Turns write it themselves; nothing changes it afterwards. */
export class AuditLog {
  readonly #sql: Sql
  readonly #searches: Searches

  constructor(sql: Sql, searches: Searches) {
    this.#sql = sql
    this.#searches = searches
  }

  /**
   * Newest first. With a filter it is a search: a rare action is looked for in the whole log of the workspace.
   * @param query `from` is inclusive, `to` exclusive
   * @throws AppError; with a filter also search_too_broad, overloaded
   */
  async list(workspaceId: string, query: Static<typeof AuditQuery>): Promise<PageResult<Static<typeof AuditEntry>>> {
    const { limit, after } = pageRequest(query)
    const { action, actorId, from, to } = query
    const values = [
      workspaceId,
      after?.createdAt ?? null,
      after?.id ?? null,
      actorId ?? null,
      action ?? null,
      instant(from) ?? null,
      instant(to) ?? null,
      limit + 1,
    ]
    const isFiltered = (action ?? actorId ?? from ?? to) !== undefined
    const read = (sql: Sql) => sql.rows<AuditRow>(PAGE, values)
    const rows = await (isFiltered ? this.#searches.run(workspaceId, read) : read(this.#sql))
    return pageOf(rows, limit, (row) => ({ createdAt: row.created_at, id: row.id }), view)
  }
}

function view(row: AuditRow): Static<typeof AuditEntry> {
  return {
    _id: row.id,
    createdAt: row.created_at,
    actor:
      row.actor_id !== null && row.actor_email !== null
        ? { _id: row.actor_id, name: row.actor_name ?? '', email: row.actor_email }
        : null,
    via: row.actor_via,
    apiKeyId: row.api_key_id,
    action: row.action,
    target: row.target_kind !== null && row.target_id !== null ? { kind: row.target_kind, _id: row.target_id } : null,
    details: row.details,
    ip: row.remote_address,
    userAgent: row.user_agent,
    requestId: row.request_id,
  }
}

/** Writes the entry of something that is no turn, in its own transaction. */
export async function recordAudit(
  sql: Sql,
  entry: {
    readonly workspaceId: string
    readonly caller: Caller
    readonly action: string
    readonly target: { readonly kind: string; readonly id: string }
    readonly details?: Readonly<Record<string, unknown>>
    readonly at: Date
    readonly origin: Origin
  },
): Promise<void> {
  const { workspaceId, caller, action, target, details, at, origin } = entry
  await sql.run(
    `insert into audit_log (id, workspace_id, actor_id, actor_via, api_key_id, action, target_kind, target_id,
                            details, remote_address, user_agent, request_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      uuidv7(at.getTime()),
      workspaceId,
      caller.userId,
      caller.via,
      caller.apiKey?.id ?? null,
      action,
      target.kind,
      target.id,
      details ?? null,
      origin.remoteAddress,
      origin.userAgent,
      origin.requestId,
      at,
    ],
  )
}
