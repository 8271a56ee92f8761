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
import type { Database } from '../../../db/database.ts'
import type { PlanService } from '../../money/plans/service.ts'
import { User } from '../../identity/users/index.ts'
import { recordAudit, type Origin } from './audit-log.ts'
import { Workspace, WorkspaceMember } from './entities.ts'
import { workspaceDeleted, workspaceUpdated } from './events.ts'
import { MEMBER_COLUMNS, mergedScopes, roleName, type MemberCache, type MemberRow } from './memberships.ts'
import type { AiSettingsChange, DeletedWorkspace, NewWorkspace, WorkspaceChange, WorkspaceView } from './schemas.ts'
import { stateOf, viewOf, WORKSPACE_COLUMNS, type WorkspaceRow } from './views.ts'

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

/** Workspaces: made by users within their plan, changed in turns, deleted with a grace of 30 days. */
export class WorkspaceService {
  readonly #database: Database
  readonly #clock: Clock
  readonly #plans: PlanService
  readonly #members: MemberCache
  readonly #deleteHooks: DeleteHook[] = []
  readonly #purgeHooks: PurgeHook[] = []

  constructor(database: Database, clock: Clock, plans: PlanService, members: MemberCache) {
    this.#database = database
    this.#clock = clock
    this.#plans = plans
    this.#members = members
  }

  /** Those that the caller is a member of, and that their API key opens, newest first. */
  async list(caller: Caller, page: PageRequest): Promise<PageResult<View>> {
    const only = caller.apiKey?.workspaceIds
    const rows = await this.#database.rows<WorkspaceRow & MemberRow>(
      `select ${WORKSPACE_COLUMNS}, ${MEMBER_COLUMNS} from workspace_members m
       join workspaces w on w.id = m.workspace_id and w.deleted_at is null
       left join roles r on r.id = m.role_id
       where m.user_id = $1 and ($2::timestamptz is null or (w.created_at, w.id) < ($2, $3::uuid))
         and ($5::uuid[] is null or w.id = any($5))
       order by w.created_at desc, w.id desc limit $4`,
      [caller.userId, page.after?.createdAt ?? null, page.after?.id ?? null, page.limit + 1, only ? [...only] : null],
    )
    return pageOf(
      rows,
      page.limit,
      (row) => ({ createdAt: row.created_at, id: row.id }),
      (row) => viewOf(row, { role: roleName(row), scopes: scopesOf(row, caller) }),
    )
  }

  /** @throws AppError plan_limit_reached */
  async create(caller: Caller, input: Static<typeof NewWorkspace>, origin: Origin): Promise<View> {
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    await this.#database.transaction(async (tx) => {
      const allowance = await this.#plans.lockLimitsOf(tx, caller.userId)
      const used = await tx.row<{ count: number }>(
        'select count(*) as count from workspaces where owner_id = $1 and deleted_at is null',
        [caller.userId],
      )
      if (used !== undefined && used.count >= allowance.workspaces) {
        const message = `Your plan ${allowance.plan} allows ${allowance.workspaces} workspaces, and you own ${used.count}.`
        throw this.#plans.limitError(allowance, 'workspaces', used.count, message)
      }
      const owner = tx.em.getReference(User, caller.userId)
      const times = { createdAt: now, updatedAt: now }
      const { name, timezone } = input
      const workspace = tx.em.create(Workspace, {
        id,
        owner,
        name,
        timezone,
        logo: input.logo ?? null,
        aiSettings: {},
        ...times,
      })
      tx.em.create(WorkspaceMember, { workspace, user: owner, role: 'owner', joinedAt: now, updatedAt: now })
      await tx.em.flush()
      await recordAudit(tx, {
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
    return this.#save(turn, member, { ...row, ai_settings: { ...row.ai_settings, ...change } }, change)
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
    await turn.sql.run(
      'update workspaces set deleted_at = $2, purge_at = $3, updated_at = $2, version = version + 1 where id = $1',
      [row.id, deletedAt, purgeAt],
    )
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
  async ownerOf(workspaceId: string): Promise<string | undefined> {
    const row = await this.#database.row<{ owner_id: string }>(
      'select owner_id from workspaces where id = $1 and deleted_at is null',
      [workspaceId],
    )
    return row?.owner_id
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
      await tx.run('delete from workspace_events where workspace_id = any($1)', [ids])
      await tx.run('delete from audit_log where workspace_id = any($1)', [ids])
      await tx.run('delete from actor_fence where key = any($1)', [ids.map((id) => `ws:${id}`)])
      await tx.run('delete from workspaces where id = any($1)', [ids])
      return ids.length
    })
  }

  async #read(workspaceId: string): Promise<WorkspaceRow> {
    const row = await this.#database.row<WorkspaceRow>(
      `select ${WORKSPACE_COLUMNS} from workspaces w where w.id = $1 and w.deleted_at is null`,
      [workspaceId],
    )
    if (row === undefined) throw NotFound()
    return row
  }

  async #inTurn(turn: Turn, ifMatch: IfMatch): Promise<WorkspaceRow> {
    const row = await turn.sql.row<WorkspaceRow>(
      `select ${WORKSPACE_COLUMNS} from workspaces w where w.id = $1 and w.deleted_at is null`,
      [turn.workspaceId],
    )
    if (row === undefined) throw NotFound()
    requireVersion(ifMatch, row.version)
    return row
  }

  async #save(turn: Turn, member: Member, next: WorkspaceRow, change: object): Promise<View> {
    const row = await turn.sql.row<WorkspaceRow>(
      `update workspaces w set name = $2, timezone = $3, logo = $4, ai_settings = $5, updated_at = $6, version = version + 1
       where id = $1 returning ${WORKSPACE_COLUMNS}`,
      [next.id, next.name, next.timezone, next.logo, next.ai_settings, new Date(this.#clock.now())],
    )
    if (row === undefined) throw NotFound()
    turn.audit({ kind: 'workspace', id: row.id, details: { changed: Object.keys(change) } })
    turn.emit(workspaceUpdated, stateOf(row))
    return viewOf(row, member)
  }
}

function scopesOf(row: MemberRow, { apiKey }: Caller): Set<Scope> {
  const scopes = mergedScopes(row)
  return apiKey?.scopes ? scopes.intersection(apiKey.scopes) : scopes
}
