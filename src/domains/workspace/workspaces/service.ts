import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Caller, Member } from '../../../core/caller.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { Conflict, Forbidden, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import { BUILT_IN_ROLES, type Scope } from '../../../core/scope.ts'
import type { Sql, Transaction } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Origin, WorkspaceLogs } from '../../../core/workspace-logs.ts'
import type { Database } from '../../../db/database.ts'
import { anyOf, atMost } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { WorkspaceEmptying } from './emptying.ts'
import { workspaceDeleted, workspaceUpdated } from './events.ts'
import { startSecondFactor } from './jobs.ts'
import { SCOPE_SOURCES, type ScopeSources } from './membership-store.ts'
import { mergedScopes, roleName, type MemberCache } from './memberships.ts'
import type { AiSettingsChange, DeletedWorkspace, NewWorkspace, WorkspaceChange, WorkspaceView } from './schemas.ts'
import { workspaceMembers, workspaces, workspaceTables } from './tables.ts'
import { stateOf, viewOf, type WorkspaceRow } from './views.ts'
import { countOwned } from './workspace-store.ts'

/** Runs in the turn that deletes a workspace. Cancels what a domain has scheduled for it. */
export type DeleteHook = (turn: Turn) => Promise<void>

/** Runs in the transaction that deletes the data of workspaces for good. */
export type PurgeHook = (tx: Transaction, workspaceIds: readonly string[]) => Promise<void>

type View = Static<typeof WorkspaceView>

/** How long the data of a deleted workspace is kept. */
const GRACE_MS = 30 * DAY
/** Workspaces that one transaction purges. */
const PURGED_AT_ONCE = 10

/** How much the clocks of nodes may differ. A time that is this long ago on one node has passed on all nodes. */
const CLOCK_SKEW_MS = 1_000

/** How far in the future a second factor can become required. */
const MAX_NOTICE_MS = 90 * DAY

/** Whether the caller may change the time from which members need a second factor. */
function requireMayProtect(caller: Caller, member: Member, at: string | null, now: number): void {
  if (member.role !== 'owner')
    throw Forbidden({ message: 'Only an owner can change whether members need a second factor.' })
  if (at === null) return
  if (caller.secondFactor !== true) {
    throw Conflict({
      message:
        'Turn on a second factor for your own account first, with POST /api/auth/totp, or sign in with a passkey. Otherwise you would lock yourself out.',
    })
  }
  if (Date.parse(at) <= now + MAX_NOTICE_MS) return
  const message = 'must be at most 90 days from now'
  const errors = [{ path: '/body/secondFactorRequiredAt', code: 'too_late', message }]
  throw ValidationFailed({ errors })
}

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
    .select(['w.id', 'w.ownerId', 'w.name', 'w.timezone', 'w.logo', 'w.aiSettings', 'w.secondFactorRequiredAt'])
    .select(['w.version', 'w.createdAt', 'w.updatedAt', ...SCOPE_SOURCES])
    .where('m.userId', '=', $.userId)
    .where('w.deletedAt', 'is', null)
    .orderBy('w.id', 'desc')
    .limit($.limit)
  if ($.ids !== undefined) found = found.where('w.id', '=', sql<string>`any(${$.ids}::uuid[])`)
  if ($.after !== undefined) found = found.where('w.id', '<', $.after)
  return found
})

export interface WorkspaceOfUser {
  readonly id: string
  readonly name: string
  readonly ownerId: string
}

const workspacesWith = query(workspaceTables, (db, $: { userId: string }) =>
  db
    .selectFrom('workspaceMembers as m')
    .innerJoin('workspaces as w', 'w.id', 'm.workspaceId')
    .select(['w.id', 'w.name', 'w.ownerId'])
    .where('m.userId', '=', $.userId)
    .where('w.deletedAt', 'is', null)
    .orderBy('w.createdAt')
    .orderBy('w.id'),
)

const workspaceIdsByUser = query(workspaceTables, (db, $: { userIds: readonly string[] }) =>
  db
    .selectFrom('workspaceMembers as m')
    .innerJoin('workspaces as w', 'w.id', 'm.workspaceId')
    .select(['m.userId', sql<string[]>`array_agg(m.workspace_id)`.as('ids')])
    .where('m.userId', '=', sql<string>`any(${$.userIds}::uuid[])`)
    .where('w.deletedAt', 'is', null)
    .groupBy('m.userId'),
)

/** Creates workspaces within the plan of their owner, changes them in turns, and purges them 30 days after deletion. */
export class WorkspaceService {
  readonly #database: Database
  readonly #clock: Clock
  readonly #logs: WorkspaceLogs
  readonly #plans: PlanService
  readonly #members: MemberCache
  readonly #deleteHooks: DeleteHook[] = []
  readonly #purgeHooks: PurgeHook[] = []
  readonly #emptying: WorkspaceEmptying

  constructor({
    clock,
    database,
    logs,
    members,
    plans,
  }: {
    readonly database: Database
    readonly clock: Clock
    readonly logs: WorkspaceLogs
    readonly plans: PlanService
    readonly members: MemberCache
  }) {
    this.#database = database
    this.#clock = clock
    this.#emptying = new WorkspaceEmptying(database, clock)
    this.#logs = logs
    this.#plans = plans
    this.#members = members
  }

  /** The workspaces that the caller is a member of and that their API key gives access to, newest first. */
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

  /** @throws AppError not_found, precondition_failed; forbidden, conflict, validation_failed for the second factor */
  async update(
    turn: Turn,
    { caller, member }: { readonly caller: Caller; readonly member: Member },
    { secondFactorRequiredAt: required, ...change }: Static<typeof WorkspaceChange>,
    ifMatch?: IfMatch,
  ): Promise<View> {
    const row = await this.#inTurn(turn, ifMatch)
    const before = row.secondFactorRequiredAt
    const after = required === undefined ? before : (instant(required)?.toISOString() ?? null)
    if (after !== before) {
      requireMayProtect(caller, member, after, this.#clock.now())
      this.#members.changes(turn)
      if (after !== null) turn.job(startSecondFactor, {}, { runAt: new Date(Date.parse(after) + CLOCK_SKEW_MS) })
    }
    const changed = { ...change, ...(after !== before && { secondFactorRequiredAt: after }) }
    return this.#save(turn, member, { ...row, ...changed }, changed)
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
   * Deletes a workspace. From the commit on it cannot be found; after 30 days it is purged.
   * @param typedName the name of the workspace, as the caller has typed it
   * @throws AppError forbidden, not_found, precondition_failed, validation_failed
   */
  async delete(
    turn: Turn,
    member: Member,
    typedName: string,
    ifMatch?: IfMatch,
  ): Promise<Static<typeof DeletedWorkspace>> {
    if (member.role !== 'owner') throw Forbidden({ message: 'Only an owner can delete the workspace.' })
    const row = await this.#inTurn(turn, ifMatch)
    if (typedName !== row.name) {
      const message = 'must be the exact name of the workspace'
      throw ValidationFailed({ errors: [{ path: '/body/name', code: 'confirmation', message }] })
    }
    return this.#end(turn, row, GRACE_MS)
  }

  /** Deletes a workspace whose last owner has deleted their account 30 days ago. It is purged at once. */
  async deleteWithOwner(turn: Turn): Promise<void> {
    await this.#end(turn, await this.#inTurn(turn, undefined), 0)
  }

  async #end(turn: Turn, row: WorkspaceRow, graceMs: number): Promise<Static<typeof DeletedWorkspace>> {
    const deletedAt = new Date(this.#clock.now())
    const purgeAt = new Date(deletedAt.getTime() + graceMs)
    const change = { deletedAt, purgeAt, updatedAt: deletedAt, version: increment() }
    await workspaces.update(turn.sql, { id: row.id }, change)
    for (const hook of this.#deleteHooks) await hook(turn)
    const times = { deletedAt: deletedAt.toISOString(), purgeAt: purgeAt.toISOString() }
    turn.audit({ kind: 'workspace', id: row.id, details: { name: row.name } })
    turn.emit(workspaceDeleted, { workspaceId: row.id, ...times })
    this.#members.changes(turn)
    return { _id: row.id, ...times }
  }

  /** Registers what a domain does when a workspace is deleted. */
  onDelete(hook: DeleteHook): void {
    this.#deleteHooks.push(hook)
  }

  /**
   * Registers what a domain does before the data of workspaces is deleted for good.
   * @param reads the tables that the hook reads. Others are empty by then
   */
  onPurge(hook: PurgeHook, reads: readonly string[]): void {
    this.#purgeHooks.push(hook)
    for (const table of reads) this.#emptying.keep(table)
  }

  /** The workspaces that a user is a member of, oldest first. */
  ofUser(userId: string, database: Sql = this.#database): Promise<WorkspaceOfUser[]> {
    return workspacesWith.rows(database, { userId })
  }

  /** The ids of the workspaces that users are members of, by user id. */
  async ofUsers(userIds: readonly string[]): Promise<Map<string, string[]>> {
    const rows = await workspaceIdsByUser.rows(this.#database, { userIds })
    return new Map(rows.map(({ ids, userId }) => [userId, ids]))
  }

  /**
   * Deletes some of the workspaces whose grace period is over: their rows in small statements, and what is left with the
   * workspaces, by foreign keys. Stops early when the signal is aborted.
   * @returns how many
   */
  async purgeDue(signal?: AbortSignal): Promise<number> {
    const isDue = { purgeAt: atMost(new Date(this.#clock.now())) }
    const some = { columns: ['id'], orderBy: ['purgeAt asc'], limit: PURGED_AT_ONCE } as const
    const found = await workspaces.find(this.#database, isDue, some)
    for (const { id } of found) {
      await this.#logs.clear(this.#database, id, signal)
      await this.#emptying.empty(id, signal)
    }
    if (found.length === 0 || signal?.aborted === true) return 0
    return this.#database.transaction(async (tx) => {
      const where = { ...isDue, id: anyOf(found.map(({ id }) => id)) }
      const due = await workspaces.find(tx, where, { ...some, lock: 'for update skip locked' })
      const ids = due.map(({ id }) => id)
      if (ids.length === 0) return 0
      for (const hook of this.#purgeHooks) await hook(tx, ids)
      await this.#logs.forget(tx, ids)
      return workspaces.delete(tx, { id: anyOf(ids) })
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
    const { name, timezone, logo, aiSettings, secondFactorRequiredAt } = next
    const updatedAt = new Date(this.#clock.now())
    const [row] = await workspaces.updateReturning(
      turn.sql,
      { id: next.id },
      { name, timezone, logo, aiSettings, secondFactorRequiredAt, updatedAt, version: increment() },
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
