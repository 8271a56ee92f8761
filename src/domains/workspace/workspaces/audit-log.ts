import { instant } from '../../../core/instant.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { AuditRecord, WorkspaceLogs } from '../../../core/workspace-logs.ts'
import type { Searches } from '../../../db/searches.ts'
import { findUsers, type UserRow } from '../../identity/users/index.ts'
import type { AuditEntry, AuditQuery } from './schemas.ts'

type Actor = Pick<UserRow, 'id' | 'name' | 'email'>

/** Who did what in a workspace, when and from where. Entries are written by turns and never change. */
export class AuditLog {
  readonly #sql: Sql
  readonly #logs: WorkspaceLogs
  readonly #searches: Searches

  constructor(sql: Sql, logs: WorkspaceLogs, searches: Searches) {
    this.#sql = sql
    this.#logs = logs
    this.#searches = searches
  }

  /**
   * Lists entries, newest first. With a filter it is a search, because a rare action can be anywhere in the log.
   * @param query `from` is inclusive, `to` exclusive
   * @throws AppError; with a filter also search_too_broad, overloaded
   */
  async list(workspaceId: string, query: Static<typeof AuditQuery>): Promise<PageResult<Static<typeof AuditEntry>>> {
    const page = pageRequest(query)
    const { action, actorId } = query
    const filter = { action, actorId, from: instant(query.from), to: instant(query.to) }
    const isFiltered = Object.values(filter).some((value) => value !== undefined)
    const read = (sql: Sql) => this.#logs.auditPage(sql, workspaceId, filter, page)
    const records = await (isFiltered ? this.#searches.run(workspaceId, read) : read(this.#sql))
    const actors = await this.#actorsOf(records)
    return pageOf(
      records,
      page.limit,
      ({ createdAt, id }) => ({ createdAt, id }),
      (record) => view(record, actors.get(record.actorId ?? '')),
    )
  }

  async #actorsOf(records: readonly AuditRecord[]): Promise<ReadonlyMap<string, Actor>> {
    const ids = new Set(records.flatMap(({ actorId }) => actorId ?? []))
    if (ids.size === 0) return new Map()
    const users = await findUsers(this.#sql, [...ids], { columns: ['id', 'name', 'email'] })
    return new Map(users.map((user) => [user.id, user]))
  }
}

function view(record: AuditRecord, actor: Actor | undefined): Static<typeof AuditEntry> {
  const { targetId, targetKind } = record
  return {
    _id: record.id,
    createdAt: record.createdAt,
    actor: actor === undefined ? null : { _id: actor.id, name: actor.name, email: actor.email },
    via: record.actorVia,
    apiKeyId: record.apiKeyId,
    action: record.action,
    target: targetKind !== null && targetId !== null ? { kind: targetKind, _id: targetId } : null,
    details: record.details,
    ip: record.remoteAddress,
    userAgent: record.userAgent,
    requestId: record.requestId,
  }
}
