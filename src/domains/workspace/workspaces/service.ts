import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Caller, Member } from '../../../core/caller.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { Forbidden, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import { BUILT_IN_ROLES, type Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Origin, WorkspaceLogs } from '../../../core/workspace-logs.ts'
import type { Database } from '../../../db/database.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { workspaceDeleted, workspaceUpdated } from './events.ts'
import { SCOPE_SOURCES, type ScopeSources } from './membership-store.ts'
import { mergedScopes, roleName, type MemberCache } from './memberships.ts'
import type { AiSettingsChange, DeletedWorkspace, NewWorkspace, WorkspaceChange, WorkspaceView } from './schemas.ts'
import { workspaceMembers, workspaces, workspaceTables } from './tables.ts'
import { stateOf, viewOf, type WorkspaceRow } from './views.ts'
import { countOwned, payerOf } from './workspace-store.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly workspaces: WorkspaceService
  }
}

/** Runs inside the turn that deletes a workspace: cancels what a domain has scheduled for it. */
export type DeleteHook = (turn: Turn) => Promise<void>

/** Runs inside the transaction that removes workspaces for good: removes a domain's rows of them. */
export type PurgeHook = (sql: Sql, workspaceIds: readonly string[]) => Promise<void>

type View = Static<typeof WorkspaceView>

const GRACE_MS = 30 * DAY

interface OfUser {
  readonly userId: string
  /** Only these workspaces. */
  readonly ids?: readonly string[] | undefined
  /** The last workspace of the page before. */
  readonly after?: string | undefined
  readonly limit: number
}

const workspacesOfUser = query(workspaceTables, (db, $: OfUser) => {
  let found = db
    .selectFrom('workspaceMembers as m')
    .innerJoin('workspaces as w', 'w.id', 'm.workspaceId')
    .leftJoin('roles as r', 'r.id', 'm.roleId')
    .select(['w.id', 'w.ownerId', 'w.name', 'w.timezone', 'w.logo', 'w.aiSettings', 'w.version'])
    .select(['w.createdAt', 'w.updatedAt', ...SCOPE_SOURCES])
    .where('m.userId', '=', $.userId)
    .where('w.deletedAt', 'is', null)
    .orderBy('w.id', 'desc')
    .limit($.limit)
  if ($.ids !== undefined) found = found.where('w.id', '=', sql<string>`any(${$.ids}::uuid[])`)
  if ($.after !== undefined) found = found.where('w.id', '<', $.after)
  return found
})

export interface WorkspaceServiceOptions {
  readonly database: Database
  readonly clock: Clock
  readonly logs: WorkspaceLogs
  readonly plans: PlanService
  readonly members: MemberCache
}

/** Workspaces: made by users within their plan, changed in turns, deleted with a grace of 30 days. */
export class WorkspaceService {
  readonly #database: Database
  readonly #clock: Clock
  readonly #logs: WorkspaceLogs
  readonly #plans: PlanService
  readonly #members: MemberCache
  readonly #deleteHooks: DeleteHook[] = []
  readonly #purgeHooks: PurgeHook[] = []

  constructor({ clock, database, logs, members, plans }: WorkspaceServiceOptions) {
    this.#database = database
    this.#clock = clock
    this.#logs = logs
    this.#plans = plans
    this.#members = members
  }

  /** Those that the caller is a member of, and that their API key opens, newest first. */
  async list(caller: Caller, page: PageRequest): Promise<PageResult<View>> {
    const only = caller.apiKey?.workspaceIds
    const rows = await workspacesOfUser.rows(this.#database, {
      userId: caller.userId,
      ids: only ? [...only] : undefined,
      after: page.after?.id,
      limit: page.limit + 1,
    })
    return pageOf(
      rows,
      page.limit,
      (row) => row,
      (row) => viewOf(row, { role: roleName(row), scopes: scopesOf(row, caller) }),
    )
  }

  /** @throws AppError plan_limit_reached */
  async create(caller: Caller, input: Static<typeof NewWorkspace>, origin: Origin): Promise<View> {
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    await this.#database.transaction(async (tx) => {
      const allowance = await this.#plans.lockLimitsOf(tx, caller.userId)
      const used = await countOwned(tx, caller.userId)
      if (used >= allowance.workspaces) {
        const message = `Your plan ${allowance.plan} allows ${allowance.workspaces} workspaces, and you own ${used}.`
        throw this.#plans.limitError(allowance, 'workspaces', used, message)
      }
      const { userId } = caller
      await workspaces.insert(tx, { ...input, id, ownerId: userId, createdAt: now, updatedAt: now })
      await workspaceMembers.insert(tx, { workspaceId: id, userId, role: 'owner', joinedAt: now, updatedAt: now })
      await this.#logs.recordAudit(tx, {
        workspaceId: id,
        caller,
        action: 'createWorkspace',
        target: { kind: 'workspace', id },
        at: now,
        origin,
      })
    })
    return viewOf(await this.#read(id), { role: 'owner', scopes: new Set(BUILT_IN_ROLES.owner) })
  }

  async get(member: Member): Promise<View> {
    return viewOf(await this.#read(member.workspaceId), member)
  }

  /** @throws AppError not_found, precondition_failed */
  async update(turn: Turn, member: Member, change: Static<typeof WorkspaceChange>, ifMatch?: IfMatch): Promise<View> {
    const row = await this.#inTurn(turn, ifMatch)
    return this.#save(turn, member, { ...row, ...change }, change)
  }

  /** @throws AppError not_found, precondition_failed */
  async updateAi(
    turn: Turn,
    member: Member,
    change: Static<typeof AiSettingsChange>,
    ifMatch?: IfMatch,
  ): Promise<View> {
    const row = await this.#inTurn(turn, ifMatch)
    return this.#save(turn, member, { ...row, aiSettings: { ...row.aiSettings, ...change } }, change)
  }

  /**
   * From the commit on the workspace answers as if it had never been; 30 days later it is gone.
   * @param typedName the name, as the caller typed it
   * @throws AppError forbidden, not_found, precondition_failed, validation_failed
   */
  async delete(
    turn: Turn,
    member: Member,
    typedName: string,
    ifMatch?: IfMatch,
  ): Promise<Static<typeof DeletedWorkspace>> {
    if (member.role !== 'owner') throw Forbidden({ message: 'Only an owner may delete the workspace.' })
    const row = await this.#inTurn(turn, ifMatch)
    if (typedName !== row.name) {
      const message = 'must be the name of the workspace, exactly'
      throw ValidationFailed({
        message: `name ${message}.`,
        errors: [{ path: '/body/name', code: 'confirmation', message }],
      })
    }
    const deletedAt = new Date(this.#clock.now())
    const purgeAt = new Date(deletedAt.getTime() + GRACE_MS)
    const change = { deletedAt, purgeAt, updatedAt: deletedAt, version: increment() }
    await workspaces.update(turn.sql, { id: row.id }, change)
    for (const hook of this.#deleteHooks) await hook(turn)
    const times = { deletedAt: deletedAt.toISOString(), purgeAt: purgeAt.toISOString() }
    turn.audit({ kind: 'workspace', id: row.id, details: { name: row.name } })
    turn.emit(workspaceDeleted, { workspaceId: row.id, ...times })
    this.#members.changes(turn)
    return { _id: row.id, ...times }
  }

  /** Adds what a domain must do when a workspace is deleted. */
  onDelete(hook: DeleteHook): void {
    this.#deleteHooks.push(hook)
  }

  /** Adds what a domain must remove when the grace of workspaces is over; rows that refer to `workspaces` go by themselves. */
  onPurge(hook: PurgeHook): void {
    this.#purgeHooks.push(hook)
  }

  /** Who pays for a workspace; undefined when there is none or it was deleted. */
  ownerOf(workspaceId: string): Promise<string | undefined> {
    return payerOf(this.#database, workspaceId)
  }

  /** Every workspace that a user is a member of. */
  ofUser(userId: string, sql: Sql = this.#database): Promise<{ id: string; name: string; ownerId: string }[]> {
    return sql.rows(
      `select w.id, w.name, w.owner_id as "ownerId" from workspace_members m
       join workspaces w on w.id = m.workspace_id and w.deleted_at is null
       where m.user_id = $1 order by w.created_at, w.id`,
      [userId],
    )
  }

  /** The workspaces of which each of some users is a member; ids by user. */
  async ofUsers(userIds: readonly string[]): Promise<Map<string, string[]>> {
    const rows = await this.#database.rows<{ user_id: string; ids: string[] }>(
      `select m.user_id, array_agg(m.workspace_id) as ids from workspace_members m
       join workspaces w on w.id = m.workspace_id and w.deleted_at is null
       where m.user_id = any($1) group by m.user_id`,
      [userIds],
    )
    return new Map(rows.map((row) => [row.user_id, row.ids]))
  }

  /** Removes workspaces whose grace is over, with all that hangs on them. @returns how many */
  async purgeDue(): Promise<number> {
    return this.#database.transaction(async (tx) => {
      const due = await tx.rows<{ id: string }>(
        'select id from workspaces where purge_at <= $1 order by purge_at limit 100 for update skip locked',
        [new Date(this.#clock.now())],
      )
      const ids = due.map((row) => row.id)
      if (ids.length === 0) return 0
      for (const hook of this.#purgeHooks) await hook(tx, ids)
      await this.#logs.forget(tx, ids)
      await tx.run('delete from workspaces where id = any($1)', [ids])
      return ids.length
    })
  }

  async #read(workspaceId: string): Promise<WorkspaceRow> {
    const row = await workspaces.first(this.#database, { id: workspaceId, deletedAt: null })
    if (row === undefined) throw NotFound()
    return row
  }

  async #inTurn(turn: Turn, ifMatch: IfMatch): Promise<WorkspaceRow> {
    const row = await workspaces.first(turn.sql, { id: turn.workspaceId, deletedAt: null })
    if (row === undefined) throw NotFound()
    requireVersion(ifMatch, row.version)
    return row
  }

  async #save(turn: Turn, member: Member, next: WorkspaceRow, change: object): Promise<View> {
    const { name, timezone, logo, aiSettings } = next
    const updatedAt = new Date(this.#clock.now())
    const [row] = await workspaces.updateReturning(
      turn.sql,
      { id: next.id },
      { name, timezone, logo, aiSettings, updatedAt, version: increment() },
    )
    if (row === undefined) throw NotFound()
    turn.audit({ kind: 'workspace', id: row.id, details: { changed: Object.keys(change) } })
    turn.emit(workspaceUpdated, stateOf(row))
    return viewOf(row, member)
  }
}

function scopesOf(row: ScopeSources, { apiKey }: Caller): Set<Scope> {
  const scopes = mergedScopes(row)
  return apiKey?.scopes ? scopes.intersection(apiKey.scopes) : scopes
}
