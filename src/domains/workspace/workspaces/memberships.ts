import type { Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { isUuid } from '../../../core/id.ts'
import type { Memberships } from '../../../core/ports.ts'
import { BUILT_IN_ROLES, isScope, type BuiltInRole, type Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import { NoticeCache } from '../../../coordination/notice-cache.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly memberships: MemberCache
  }
}

/** What a membership is made of, before it is merged. */
export interface MemberRow {
  built_in_role: BuiltInRole | null
  role_name: string | null
  role_scopes: string[] | null
  group_scopes: string[]
  added_scopes: string[]
  removed_scopes: string[]
}

/** Columns of a `MemberRow`, for `m` a row of workspace_members and `r` its custom role. */
export const MEMBER_COLUMNS = `
  m.role as built_in_role, r.name as role_name, r.scopes as role_scopes, m.added_scopes, m.removed_scopes,
  array(select distinct unnest(g.scopes) from group_members gm join groups g on g.id = gm.group_id
        where gm.workspace_id = m.workspace_id and gm.user_id = m.user_id) as group_scopes`

/** Role scopes and groups' scopes, with the personal additions and removals. An owner has all, always. */
export function mergedScopes(row: MemberRow): Set<Scope> {
  if (row.built_in_role === 'owner') return new Set(BUILT_IN_ROLES.owner)
  const fromRole = row.built_in_role === null ? (row.role_scopes ?? []) : BUILT_IN_ROLES[row.built_in_role]
  // A scope of an older or newer version of the service means nothing here.
  const scopes = new Set([...fromRole, ...row.group_scopes, ...row.added_scopes].filter(isScope))
  for (const scope of row.removed_scopes) scopes.delete(scope as Scope)
  return scopes
}

export function roleName(row: MemberRow): string {
  return row.built_in_role ?? row.role_name ?? ''
}

/**
 * Who may do what in which workspace. Known members are answered from memory, at once; every change of members, roles
 * or groups makes all nodes forget the workspace.
 */
export class MemberCache implements Memberships {
  readonly #sql: Sql
  readonly #members: NoticeCache<Member>

  constructor(sql: Sql, clock: Clock, coordination: Coordination) {
    this.#sql = sql
    this.#members = new NoticeCache({
      name: 'members',
      coordination,
      clock,
      load: (workspaceId, userId) => this.#load(workspaceId, userId),
    })
  }

  find(workspaceId: string, userId: string): Member | undefined | Promise<Member | undefined> {
    return isUuid(workspaceId) && isUuid(userId) ? this.#members.find(workspaceId, userId) : undefined
  }

  /** Those of the users who are members, read now in one go. */
  among(workspaceId: string, userIds: readonly string[]): Promise<Member[]> {
    return membersAmong(this.#sql, workspaceId, userIds)
  }

  /** To be called by every turn that changes members, roles or groups: no later turn, and no node, goes by what was. */
  changes(turn: Turn): void {
    turn.settled(() => turn.memory(KNOWN_MEMBERS).clear())
    turn.afterCommit(() => this.changed(turn.workspaceId))
  }

  /** Says to every node that members, roles or groups of a workspace have changed. Called after the commit. */
  changed(workspaceId: string): void {
    this.#members.invalidate(workspaceId)
  }

  /**
   * Hears of changes, so that open sockets are checked again.
   * @param listener gets the workspace; undefined when any may have changed unheard
   */
  onChange(listener: (workspaceId: string | undefined) => void): () => void {
    return this.#members.onInvalidated(listener)
  }

  close(): void {
    this.#members.close()
  }

  async #load(workspaceId: string, userId: string): Promise<Member | undefined> {
    const row = await this.#sql.row<JoinedRow>(
      `select m.joined_at, ${MEMBER_COLUMNS} from workspace_members m
       join workspaces w on w.id = m.workspace_id and w.deleted_at is null
       left join roles r on r.id = m.role_id
       where m.workspace_id = $1 and m.user_id = $2`,
      [workspaceId, userId],
    )
    return row && memberOf(workspaceId, userId, row)
  }
}

/**
 * What an actor knows of its members: null for a stranger. Right without a time-out, because whatever changes members,
 * roles or groups is a turn of this actor and forgets it at its place in the order (see `MemberCache.changes`).
 */
export const KNOWN_MEMBERS: MemoryKey<Map<string, Member | null>> = { name: 'members', make: () => new Map() }

/** Those of the users who are members of a workspace that is not deleted, read now. */
export async function membersAmong(sql: Sql, workspaceId: string, userIds: readonly string[]): Promise<Member[]> {
  const rows = await sql.rows<JoinedRow & { user_id: string }>(
    `select m.user_id, m.joined_at, ${MEMBER_COLUMNS} from workspace_members m
     join workspaces w on w.id = m.workspace_id and w.deleted_at is null
     left join roles r on r.id = m.role_id
     where m.workspace_id = $1 and m.user_id = any($2::uuid[])`,
    [workspaceId, userIds],
  )
  return rows.map((row) => memberOf(workspaceId, row.user_id, row))
}

interface JoinedRow extends MemberRow {
  joined_at: string
}

function memberOf(workspaceId: string, userId: string, row: JoinedRow): Member {
  return { workspaceId, userId, role: roleName(row), scopes: mergedScopes(row), joinedAt: row.joined_at }
}
