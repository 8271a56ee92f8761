import type { Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PreludeBatch, PreludeRequest } from '../../../core/operation.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import { publishingSettingsOf } from '../../identity/users/index.ts'
import { postingAccounts, type PostingAccount } from '../../social/accounts/index.ts'
import { timeZoneOf } from '../../workspace/workspaces/index.ts'
import type { Provided } from '../../../core/provided.ts'
import {
  type ApprovalGate,
  lockTargets,
  bodyOf,
  postCreated,
  canAct,
  notPossible,
  type NewPostInput,
  type PostBody,
  type PostChangeInput,
  type PostCopyInput,
  type PostData,
  addVersion,
  saveVersion,
  statusOfPost,
  insertPost,
  loadPost,
  type LoadedPost,
  released,
  postSegments,
  type TargetRow,
  type VersionKind,
  loadOf,
  reservationsOf,
  type PostFacts,
} from '../posts/index.ts'
import { type AuthorSettings, BATCH_SETTINGS } from './author-settings.ts'
import type { PostChecks } from './checks.ts'
import {
  type Resources,
  type Wanted,
  scheduled,
  startBy,
  timed,
  timesOf,
  requireNewTimesToCome,
  timeOfPost,
  type PlannedTime,
  type BudgetPlanner,
  timeOf,
  wantedTargets,
  type NewPostTimes,
  newTarget,
  type WantedTarget,
  hasTime,
  requireOneTime,
  requireTargets,
} from '../planning/index.ts'
import type { TextOrigins } from './text-origin/text-origins.ts'
import { anyOf } from '../../../db/condition.ts'
import type { PostQuota } from './quota.ts'

const LATE_MINUTES = 60

/** What a new post has beside the request. */
export interface PostOrigin {
  readonly userId: string
  readonly batchId?: string
  /** The series that it begins, and its occurrence. */
  readonly series?: Pick<PostFacts, 'seriesId' | 'occurrence'>
  /** The idea that it is made of. */
  readonly ideaId?: string
  readonly workspaceZone?: string
  /** Accounts and files that were loaded already. */
  readonly known?: Resources
}

interface AuthorNeeds {
  readonly clock: Clock
  readonly checks: PostChecks
  readonly times: NewPostTimes
  readonly room: BudgetPlanner
  readonly approvals: Provided<ApprovalGate>
  readonly origins: TextOrigins
  readonly edits: Provided<PublishedEdits>
  readonly quota: PostQuota
  readonly settings: AuthorSettings
}

/** Makes changes of a post at the platforms where it is published. The domain of remote changes provides it. */
export interface PublishedEdits {
  /** @returns the targets, with what happens to those that are published */
  edited(turn: Turn, after: LoadedPost): Promise<readonly TargetRow[]>
}

/** Writes posts: creates and edits them, in turns. */
export class PostAuthor {
  readonly #clock: Clock
  readonly #checks: PostChecks
  readonly #times: NewPostTimes
  readonly #room: BudgetPlanner
  readonly #approvals: Provided<ApprovalGate>
  readonly #origins: TextOrigins
  readonly #edits: Provided<PublishedEdits>
  readonly #quota: PostQuota
  readonly #settings: AuthorSettings

  constructor({ approvals, checks, clock, edits, origins, quota, room, settings, times }: AuthorNeeds) {
    this.#settings = settings
    this.#clock = clock
    this.#checks = checks
    this.#times = times
    this.#room = room
    this.#approvals = approvals
    this.#origins = origins
    this.#edits = edits
    this.#quota = quota
  }

  /** Reads the accounts and authors of all posts that a batch creates, in one statement each. The copy is valid for this batch only. */
  async prepare(
    requests: readonly PreludeRequest<unknown, unknown, NewPostInput>[],
    batch: PreludeBatch,
  ): Promise<void> {
    const ids = new Set(requests.flatMap(({ body }) => (body.targets ?? []).map(({ accountId }) => accountId)))
    const known = batch.memory(BATCH_ACCOUNTS)
    known.clear()
    const settings = batch.memory(BATCH_SETTINGS)
    settings.clear()
    const users = new Set(requests.flatMap(({ caller }) => caller?.userId ?? []))
    const [accounts, own] = await Promise.all([
      postingAccounts(batch.sql, batch.workspaceId, [...ids]),
      publishingSettingsOf(batch.sql, [...users]),
    ])
    for (const [id, account] of accounts) known.set(id, account)
    for (const [id, one] of own) settings.set(id, one)
  }

  /**
   * Creates a post: a draft, or a scheduled one.
   * @throws AppError validation_failed, platform_validation_failed, account_not_usable, queue_full, plan_limit_reached
   */
  async create(turn: Turn, input: NewPostInput, userId: string): Promise<PostData> {
    return this.add(
      turn,
      await this.build(turn, await this.completed(turn, input, userId), { userId }),
      input.publishNow,
    )
  }

  /**
   * Makes a new post of another one: a draft, unless the request has a time.
   * @returns the copy, and the names of accounts that it lacks because they no longer exist
   * @throws AppError not_found, and as `create`
   */
  async copy(
    turn: Turn,
    id: string,
    { accountIds, ...times }: PostCopyInput,
    userId: string,
  ): Promise<{ post: PostData; leftOut: readonly string[] }> {
    const { post, targets } = await loadPost(turn.sql, id)
    const overrides = new Map(targets.map(({ accountId, override }) => [accountId, override]))
    const wanted = accountIds ?? targets.map(({ accountId }) => accountId)
    const accounts = await postingAccounts(turn.sql, turn.workspaceId, wanted)
    const isGone = (accountId: string) => overrides.has(accountId) && !isConnected(accounts.get(accountId))
    const input: NewPostInput = {
      workspaceId: turn.workspaceId,
      ...post.body,
      media: [...post.body.media],
      thread: post.body.thread.map(({ content, media }) => ({ content, media: [...media] })),
      tags: [...post.body.tags],
      labels: [...post.labels],
      lateMinutes: post.lateMinutes,
      targets: wanted
        .filter((accountId) => !isGone(accountId))
        .map((accountId) => ({ accountId, override: (overrides.get(accountId) ?? null) as Override })),
      ...times,
    }
    // A draft may break rules of its platforms.
    const given = hasTime(input) ? input : { ...input, draft: true }
    const copy = await this.add(turn, await this.build(turn, given, { userId }))
    const named = targets.filter(({ accountId }) => wanted.includes(accountId) && isGone(accountId))
    const leftOut = named.map(({ accountId, platform }) => accounts.get(accountId)?.name ?? `${platform} ${accountId}`)
    return { post: copy, leftOut }
  }

  /** A request with what the settings of its author add. */
  completed(turn: Turn, input: NewPostInput, userId: string): Promise<NewPostInput> {
    const known = { settings: turn.memory(BATCH_SETTINGS), accounts: turn.memory(BATCH_ACCOUNTS) }
    return this.#settings.apply(input, userId, { sql: turn.sql, known })
  }

  /**
   * A new post that passed its checks: drafts with their times. Nothing of it is stored or reserved, see `add`.
   * @throws AppError validation_failed, platform_validation_failed, account_not_usable, queue_full, budget_exceeded,
   *   model_text_not_released
   */
  async build(turn: Turn, input: NewPostInput, origin: PostOrigin): Promise<LoadedPost> {
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    requireOneTime(input)
    const { workspaceZone } = origin
    const zone =
      input.timezone ?? workspaceZone ?? (hasTime(input) ? await timeZoneOf(turn.sql, turn.workspaceId) : 'UTC')
    const body = bodyOf(input)
    const known = origin.known ?? { accounts: turn.memory(BATCH_ACCOUNTS) }
    const where = { sql: turn.sql, workspaceId: turn.workspaceId, known }
    const untimed = wantedTargets(input.targets ?? [], null, zone)
    const resources = await this.#checks.resources(where, body, untimed)
    if (input.draft !== true) this.#checks.require(body, untimed, resources)
    const time = await this.#times.timeFor(turn, input, {
      at,
      body,
      resources,
      untimed,
      zone,
      workspaceZone,
      userId: origin.userId,
    })
    const wanted = untimed.map((target) => (target.ownTime ? target : { ...target, time }))
    if (time !== null) requireTargets(wanted)
    const post: PostFacts = {
      id: uuidv7(now),
      workspaceId: turn.workspaceId,
      body,
      labels: input.labels ?? [],
      ...timesOf(time),
      lateMinutes: input.lateMinutes ?? LATE_MINUTES,
      batchId: origin.batchId ?? null,
      seriesId: origin.series?.seriesId ?? null,
      occurrence: origin.series?.occurrence ?? null,
      ideaId: origin.ideaId ?? null,
      approval: null,
      textOrigin: await this.#origins.of(turn, body, untimed, resources.files),
      version: 1,
      createdBy: origin.userId,
      deletedAt: null,
      createdAt: at,
      updatedAt: at,
    }
    const targets = wanted.map((target, position) => newTarget(post, { target, position, resources, at }))
    if (targets.some(isTimed)) {
      this.#checks.requireUsable(wanted, resources)
      await this.#origins.requireReleased(turn, post.textOrigin)
    }
    return { post, targets }
  }

  /** Stores a post that was built, and places its targets. @throws AppError plan_limit_reached */
  async add(turn: Turn, built: LoadedPost, publishNow = false): Promise<PostData> {
    await this.#quota.take(turn)
    return this.write(turn, built, publishNow)
  }

  /** The same for a post that the plan does not limit. */
  async write(turn: Turn, built: LoadedPost, publishNow = false): Promise<PostData> {
    const { createdAt, createdBy: authorId } = built.post
    const placed = await this.#placed(turn, built, publishNow)
    const view = insertPost(turn, placed, postCreated)
    addVersion(turn, placed, { kind: 'created', authorId, now: Date.parse(createdAt) })
    turn.audit({ kind: 'post', id: placed.post.id })
    return view
  }

  /** A new post whose drafts with a time are scheduled, or in review. */
  async #placed(turn: Turn, { post, targets: drafts }: LoadedPost, publishNow: boolean): Promise<LoadedPost> {
    const { createdAt: at, createdBy: userId, lateMinutes } = post
    const place = await this.#place(turn)
    const targets = drafts.map((target) => {
      if (target.status !== 'draft') return target
      const { problem } = target
      return { ...this.#planned(turn, target, { at, lateMinutes, place }), problem }
    })
    const after = { post, targets }
    return released(turn, await this.#approvals.get().changed(turn, { after, before: undefined, userId, publishNow }))
  }

  /**
   * Changes a post. Absent fields stay as they are; the change is a new version.
   * @throws AppError not_found, precondition_failed, validation_failed, platform_validation_failed, post_state_conflict
   */
  async update(
    turn: Turn,
    id: string,
    input: PostChangeInput,
    options: { userId: string; ifMatch: IfMatch },
  ): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    requireVersion(options.ifMatch, before.post.version)
    return this.change(turn, before, input, { kind: 'edited', authorId: options.userId })
  }

  /**
   * Changes a post that was read in this turn. The change is a new version.
   * @throws AppError validation_failed, platform_validation_failed, post_state_conflict
   */
  async change(
    turn: Turn,
    before: LoadedPost,
    input: PostChangeInput,
    by: { kind: VersionKind; authorId: string | null },
  ): Promise<PostData> {
    const edited = await this.#edited(turn, before, input)
    const change = { before, after: edited, userId: by.authorId ?? before.post.createdBy, publishNow: false }
    const after = await this.#approvals.get().changed(turn, change)
    const targets = await this.#edits.get().edited(turn, after)
    return saveVersion(turn, before, { ...after, targets }, { ...by, now: this.#clock.now() })
  }

  async #edited(turn: Turn, before: LoadedPost, input: PostChangeInput): Promise<LoadedPost> {
    const { post } = before
    const at = new Date(this.#clock.now()).toISOString()
    const zone = input.timezone ?? post.timeZone ?? (await timeZoneOf(turn.sql, turn.workspaceId))
    const time = input.scheduledFor === undefined ? timeOfPost(post) : timeOf(input.scheduledFor, zone)
    const body = bodyOf(input, post.body)
    const wanted =
      input.targets === undefined
        ? before.targets.map((target) => wantedOf(target, time))
        : wantedTargets(input.targets, time, zone)
    requireEditable(before, wanted)
    requireNewTimesToCome(before, { input, time, wanted }, at)
    const resources = await this.#checks.resources(turn, body, wanted)
    if (time !== null) requireTargets(wanted)
    this.#checks.require(body, wanted, resources)
    await this.#requireRoom(turn, before, { body, resources, wanted })
    const lateMinutes = input.lateMinutes ?? post.lateMinutes
    const edited: PostFacts = {
      ...post,
      body,
      textOrigin: await this.#origins.after(turn, before, body, wanted, resources.files),
      labels: input.labels ?? post.labels,
      lateMinutes,
      ...timesOf(time),
      updatedAt: at,
    }
    const place = await this.#place(turn)
    const known = new Map(before.targets.map((target) => [target.accountId, target]))
    const targets = wanted.map((target, position) => {
      const old = known.get(target.accountId)
      if (old === undefined)
        return this.#planned(turn, newTarget(edited, { target, position, resources, at }), { at, lateMinutes, place })
      const kept = { ...old, position, override: target.override, ownTime: target.ownTime, updatedAt: at }
      if (!canAct(old, 'schedule')) return kept
      if (isSameTime(old, target.time))
        return target.time === null ? kept : { ...kept, startBy: startBy(target.time, lateMinutes) }
      if (target.time !== null) return place(turn, kept, { time: target.time, lateMinutes, at })
      const unplanned = { ...kept, ...timesOf(null), startBy: null, plan: old.plan + 1, problem: null }
      return old.status === 'scheduled' ? { ...unplanned, status: 'draft' as const } : unplanned
    })
    // What was prepared of the old content is no longer valid.
    await lockTargets(turn, post.id)
    const open = targets.filter(({ status }) => status !== 'published' && status !== 'partial').map(({ id }) => id)
    await postSegments.delete(turn.sql, { targetId: anyOf(open), status: 'pending' })
    return { post: edited, targets }
  }

  /** Refuses times without room in the budgets, of targets that an edit would schedule or make larger. */
  async #requireRoom(
    turn: Turn,
    before: LoadedPost,
    { body, resources, wanted }: { body: PostBody; resources: Resources; wanted: readonly WantedTarget[] },
  ): Promise<void> {
    const known = new Map(before.targets.map((target) => [target.accountId, target]))
    const changed = wanted.filter(({ accountId, override, time }) => {
      const old = known.get(accountId)
      if (old === undefined) return true
      const load = loadOf(body, override, old.platform)
      const isLarger = load.replies > old.replies || load.costMicros > old.costMicros
      return canAct(old, 'schedule') && (isLarger || !isSameTime(old, time))
    })
    // What the post had does not keep it from its new time.
    const old = changed.flatMap(({ accountId }) => known.get(accountId) ?? [])
    reservationsOf(turn).change(old, [])
    await this.#room.require(turn, { body, resources, targets: changed, label: null })
  }

  /** How targets get a time: they are scheduled, unless they must be approved first. */
  async #place(turn: Turn): Promise<typeof scheduled> {
    return (await this.#approvals.get().applies(turn)) ? timed : scheduled
  }

  #planned(
    turn: Turn,
    target: TargetRow,
    { place, ...now }: { at: string; lateMinutes: number; place: typeof scheduled },
  ): TargetRow {
    const time = timeOfPost(target)
    return time === null ? target : place(turn, target, { time, ...now })
  }
}

type Override = Exclude<NonNullable<NewPostInput['targets']>[number]['override'], undefined>

const isTimed = ({ scheduledAt }: TargetRow) => scheduledAt !== null

function isConnected(account: PostingAccount | undefined): boolean {
  return account !== undefined && account.status !== 'removed'
}

/** The accounts that the posts of a batch name. */
const BATCH_ACCOUNTS: MemoryKey<Map<string, PostingAccount>> = { name: 'posts.accounts', make: () => new Map() }

function wantedOf(target: TargetRow, time: PlannedTime | null): WantedTarget {
  const { accountId, override, ownTime } = target
  return { accountId, override, ownTime, time: ownTime ? timeOfPost(target) : time }
}

function isSameTime(target: TargetRow, time: PlannedTime | null): boolean {
  return target.scheduledAt === (time?.scheduledAt ?? null) && target.timeZone === (time?.timeZone ?? null)
}

/** @throws AppError post_state_conflict if a target is being published, or a published one is removed */
function requireEditable({ targets }: LoadedPost, wanted: readonly Wanted[]): void {
  const kept = new Set(wanted.map(({ accountId }) => accountId))
  const status = statusOfPost(targets.map((target) => target.status))
  const busy = targets.filter((target) => !canAct(target, 'edit'))
  if (busy.length > 0) throw notPossible('edit', status, busy, 'Try again when it has ended.')
  const removed = targets.filter(({ accountId, status: one }) => {
    return !kept.has(accountId) && (one === 'published' || one === 'partial')
  })
  if (removed.length > 0) {
    throw notPossible('edit', status, removed, 'It was published at an account that the change leaves out.')
  }
}
