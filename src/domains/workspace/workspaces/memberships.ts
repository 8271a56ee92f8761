import { sql } from 'kysely'
import type { Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { isUuid } from '../../../tools/id.ts'
import type { Memberships } from '../../../core/ports.ts'
import { BUILT_IN_ROLES, isScope, type Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import { NoticeCache } from '../../../coordination/notice-cache.ts'
import { query } from '../../../db/query.ts'
import { SCOPE_SOURCES, type ScopeSources } from './membership-store.ts'
import { workspaceTables } from './tables.ts'

/** The scopes of role and groups, plus added scopes, minus removed ones. An owner always has all scopes. */
export function mergedScopes({ role, roleScopes, groupScopes, addedScopes, removedScopes }: ScopeSources): Set<Scope> {
  if (role === 'owner') return new Set(BUILT_IN_ROLES.owner)
  const fromRole = role === null ? (roleScopes ?? []) : BUILT_IN_ROLES[role]
  // Scopes that only an older or newer version of Crier knows are ignored.
  const scopes = new Set([...fromRole, ...groupScopes, ...addedScopes].filter(isScope))
  for (const scope of removedScopes) scopes.delete(scope)
  return scopes
}

export function roleName({ role, roleName: customName }: Pick<ScopeSources, 'role' | 'roleName'>): string {
  return role ?? customName ?? ''
}

/**
 * Members and their scopes, cached per node. After every change of members, roles or groups of a workspace, all nodes
 * drop what they have cached of it.
 */
export class MemberCache implements Memberships {
  readonly #clock: Clock
  readonly #database: Sql
  readonly #members: NoticeCache<Member>
  readonly #inTurn: ((turn: Turn) => void)[] = []

  constructor(database: Sql, clock: Clock, coordination: Coordination) {
    this.#clock = clock
    this.#database = database
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

  /** Which of the users are members. Always reads the database, with one statement. */
  among(workspaceId: string, userIds: readonly string[]): Promise<Member[]> {
    return membersAmong(this.#database, workspaceId, userIds, this.#clock.now())
  }

  /** Every turn that changes members, roles or groups must call this, so that no later turn and no node uses old data. */
  changes(turn: Turn): void {
    for (const listener of this.#inTurn) listener(turn)
    turn.settled(() => turn.memory(KNOWN_MEMBERS).clear())
    turn.afterCommit(() => this.changed(turn.workspaceId))
  }

  /** Adds a listener that runs in each turn that changes members, roles or groups, for example to add a job. */
  onTurnChange(listener: (turn: Turn) => void): void {
    this.#inTurn.push(listener)
  }

  /** Tells all nodes that members, roles or groups of a workspace have changed. To be called after the commit. */
  changed(workspaceId: string): void {
    this.#members.invalidate(workspaceId)
  }

  /**
   * Subscribes to changes, for example to check open sockets again.
   * @param listener gets the workspace, or undefined when changes of any workspace may have been missed
   */
  onChange(listener: (workspaceId: string | undefined) => void): () => void {
    return this.#members.onInvalidated(listener)
  }

  close(): void {
    this.#members.close()
  }

  async #load(workspaceId: string, userId: string): Promise<Member | undefined> {
    const [member] = await this.among(workspaceId, [userId])
    return member
  }
}

/**
 * Members that an actor remembers, by user id; null for a user who is no member. It needs no expiry: only turns of this
 * actor change members, roles and groups, and they clear it (see `MemberCache.changes`).
 */
export const KNOWN_MEMBERS: MemoryKey<Map<string, Member | null>> = { name: 'members', make: () => new Map() }

const scopeSources = query(workspaceTables, (db, $: { workspaceId: string; userIds: readonly string[] }) =>
  db
    .selectFrom('workspaceMembers as m')
    .innerJoin('workspaces as w', 'w.id', 'm.workspaceId')
    .leftJoin('roles as r', 'r.id', 'm.roleId')
    .select(['m.userId', 'm.joinedAt', 'w.secondFactorRequiredAt', ...SCOPE_SOURCES])
    .where('m.workspaceId', '=', $.workspaceId)
    .where('m.userId', '=', sql<string>`any(${$.userIds}::uuid[])`)
    .where('w.deletedAt', 'is', null),
)

/**
 * Which of the users are members of a workspace that is not deleted. Always reads the database.
 * @param now for whether the workspace requires a second factor. Turns leave it to the pipeline, because actors remember
 * members without expiry
 */
export async function membersAmong(
  database: Sql,
  workspaceId: string,
  userIds: readonly string[],
  now = Number.NEGATIVE_INFINITY,
): Promise<Member[]> {
  const rows = await scopeSources.rows(database, { workspaceId, userIds })
  return rows.map((row) => ({
    workspaceId,
    userId: row.userId,
    role: roleName(row),
    scopes: mergedScopes(row),
    joinedAt: row.joinedAt,
    ...(isDue(row.secondFactorRequiredAt, now) && { secondFactor: 'required' as const }),
  }))
}

function isDue(at: string | null, now: number): boolean {
  return at !== null && Date.parse(at) <= now
}
