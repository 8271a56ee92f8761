import { DAY, MINUTE, type Clock } from '../../../core/clock.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import type { IfMatch } from '../../../core/precondition.ts'
import type { Provided } from '../../../core/provided.ts'
import { requireVersion } from '../../../core/precondition.ts'
import type { Turn } from '../../../core/turn.ts'
import { timeZoneOf } from '../../workspace/workspaces/index.ts'
import {
  type ApprovalGate,
  calledTargets,
  postDeleted,
  act,
  canAct,
  notPossible,
  reservationsOf,
  MAX_LABELS,
  type PostBody,
  type PostData,
  type RescheduleInput,
  statusOfPost,
  type TargetAction,
  type TargetStatus,
  saveVersion,
  deletePost,
  loadPost,
  savePost,
  type LoadedPost,
  type TargetRow,
} from '../posts/index.ts'
import {
  timeOfPost,
  type Planned,
  type BudgetPlanner,
  type Resources,
  scheduled,
  startBy,
  timed,
  timesOf,
  tryAgainAt,
  type SlotFinder,
  plannedTime,
  PUBLISH,
  requireToCome,
  type PlannedTime,
} from '../planning/index.ts'
import { formatLocal, parseLocal, labelOf } from '../calendar/index.ts'
import type { PostChecks } from './checks.ts'

interface ActionNeeds {
  readonly clock: Clock
  readonly checks: PostChecks
  readonly slots: SlotFinder
  readonly room: BudgetPlanner
  readonly approvals: Provided<ApprovalGate>
}

/** How far a post is moved. */
interface Shift {
  readonly days?: number
  readonly minutes?: number
}

/** Targets in these states can be moved. Others have ended, or begun. */
const MOVABLE: readonly TargetStatus[] = ['draft', 'in_review', 'ready', 'scheduled']

/** What users do with posts beside writing them, in turns. */
export class PostActions {
  readonly #clock: Clock
  readonly #checks: PostChecks
  readonly #slots: SlotFinder
  readonly #room: BudgetPlanner
  readonly #approvals: Provided<ApprovalGate>

  constructor({ approvals, checks, clock, room, slots }: ActionNeeds) {
    this.#clock = clock
    this.#checks = checks
    this.#slots = slots
    this.#room = room
    this.#approvals = approvals
  }

  /**
   * Gives a post a time, or the next free slot of the queue. Targets with their own time keep it.
   * @throws AppError not_found, validation_failed, platform_validation_failed, account_not_usable, post_state_conflict,
   *   queue_full
   */
  async reschedule(
    turn: Turn,
    id: string,
    input: RescheduleInput,
    { ifMatch, userId }: { userId: string; ifMatch: IfMatch },
  ): Promise<TimedPost> {
    const before = await loadPost(turn.sql, id)
    requireVersion(ifMatch, before.post.version)
    const isMeant = ({ ownTime }: TargetRow) => !ownTime
    const timeFor = (planned: Untimed) => this.#timeFor(turn, before, input, planned)
    const planned = await this.#scheduleAll(turn, before, timeFor, isMeant)
    const change = { before, after: planned, userId, publishNow: false }
    const after = await this.#approvals.get().changed(turn, change)
    const post = await saveVersion(turn, before, after, {
      kind: 'rescheduled',
      authorId: userId,
      now: this.#clock.now(),
    })
    return { post, waits: waitsFor(before, after, 'published at its time') }
  }

  /**
   * Moves a post that has a time, with the own times of its targets. A draft stays a draft, and what waits goes on waiting.
   * @param shift days on the calendar of its zone, then minutes
   * @throws AppError not_found, validation_failed, platform_validation_failed, account_not_usable, post_state_conflict,
   *   budget_exceeded
   */
  async shift(turn: Turn, id: string, shift: Shift, userId: string): Promise<TimedPost> {
    const before = await loadPost(turn.sql, id)
    const moved = new Map(before.targets.map((target) => [target.id, this.#moved(target, shift)]))
    const isMoved = ({ id: targetId, status }: TargetRow) => MOVABLE.includes(status) && moved.get(targetId) != null
    const chosen = before.targets.filter((target) => isMoved(target))
    const time = this.#moved(before.post, shift)
    if (chosen.length === 0 && (time === null || before.targets.length > 0)) {
      const status = statusOfPost(before.targets.map((target) => target.status))
      throw notPossible('schedule', status, before.targets, 'It has no time that could be moved.')
    }
    const planned = chosen.filter(({ status }) => status !== 'draft')
    const { body, lateMinutes } = before.post
    const resources = await this.#checks.resources(turn, body, planned)
    this.#checks.require(body, planned, resources)
    this.#checks.requireUsable(planned, resources)
    // Their own times do not keep them from new ones.
    reservationsOf(turn).change(planned, [])
    const wanted = planned.map((target) => ({ ...target, time: moved.get(target.id) ?? null }))
    await this.#room.require(turn, { body, resources, targets: wanted, label: null })
    const at = new Date(this.#clock.now()).toISOString()
    const place = (await this.#approvals.get().applies(turn)) ? timed : scheduled
    const targets = before.targets.map((target) => {
      const to = moved.get(target.id)
      if (!isMoved(target) || to == null) return target
      if (target.status === 'draft')
        return { ...target, ...timesOf(to), startBy: startBy(to, lateMinutes), updatedAt: at }
      const next = { time: to, lateMinutes, at }
      // It waits until somebody releases it.
      if (target.status === 'ready') return { ...timed(turn, target, next), problem: target.problem }
      return place(turn, target, next)
    })
    const post = { ...before.post, ...(time !== null && timesOf(time)), updatedAt: at }
    const change = { before, after: { post, targets }, userId, publishNow: false }
    const after = await this.#approvals.get().changed(turn, change)
    const view = await saveVersion(turn, before, after, {
      kind: 'rescheduled',
      authorId: userId,
      now: this.#clock.now(),
    })
    return { post: view, waits: waitsFor(before, after, 'published at its time') }
  }

  /**
   * Adds and removes labels, which platforms do not see.
   * @returns undefined if the post has them already
   * @throws AppError not_found, validation_failed for too many labels
   */
  async label(
    turn: Turn,
    id: string,
    { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
    userId: string,
  ): Promise<PostData | undefined> {
    const before = await loadPost(turn.sql, id)
    const old = before.post.labels
    const labels = [...new Set([...old, ...add])].filter((label) => !remove.includes(label))
    if (labels.length === old.length && labels.every((label) => old.includes(label))) return undefined
    if (labels.length > MAX_LABELS) {
      const message = `would give the post ${labels.length} labels, and it can have ${MAX_LABELS}`
      throw ValidationFailed({ errors: [{ path: '/body/addLabels', code: 'too_many', message }] })
    }
    const updatedAt = new Date(this.#clock.now()).toISOString()
    const labelled = { ...before, post: { ...before.post, labels, updatedAt } }
    const change = { before, after: labelled, userId, publishNow: false }
    const after = await this.#approvals.get().changed(turn, change)
    return saveVersion(turn, before, after, { kind: 'edited', authorId: userId, now: this.#clock.now() })
  }

  /**
   * Publishes a draft, a scheduled or a missed post now.
   * @throws AppError not_found, platform_validation_failed, account_not_usable, post_state_conflict
   */
  async publish(turn: Turn, id: string, userId: string): Promise<TimedPost> {
    const before = await loadPost(turn.sql, id)
    const zone = before.post.timeZone ?? (await timeZoneOf(turn.sql, turn.workspaceId))
    const time = plannedTime(new Date(this.#clock.now()).toISOString(), zone)
    const timeFor = async (chosen: Untimed) => {
      await this.#room.require(turn, withTime(chosen, time))
      return time
    }
    const planned = await this.#scheduleAll(turn, before, timeFor, () => true)
    const after = await this.#approvals.get().changed(turn, { before, after: planned, userId, publishNow: true })
    return { post: await this.#save(turn, before, after), waits: waitsFor(before, after, 'published') }
  }

  /**
   * Cancels what is not published yet. A target that is being published is cancelled if the call that publishes it has
   * not been made.
   * @throws AppError not_found, post_state_conflict
   */
  async cancel(turn: Turn, id: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const called = await calledTargets(turn, before)
    const at = new Date(this.#clock.now()).toISOString()
    const canCancel = (target: TargetRow) => canAct(target, 'cancel') && !called.has(target.id)
    requireOne(before, 'cancel', canCancel)
    const targets = before.targets.map((target) => {
      if (!canCancel(target)) return target
      // Without an attempt, the publisher that has it cannot go on.
      const ended = { attemptId: null, leaseUntil: null, nextAttemptAt: null, problem: null }
      return act(target, 'cancel', { ...ended, plan: target.plan + 1, updatedAt: at })
    })
    return this.#save(turn, before, { ...before, targets })
  }

  /**
   * Tries the failed targets again. Parts that are published are never sent twice.
   * @throws AppError not_found, post_state_conflict
   */
  async retry(turn: Turn, id: string): Promise<PostData> {
    const before = await loadPost(turn.sql, id)
    const canRetry = (target: TargetRow) => canAct(target, 'retry') && target.status !== 'unconfirmed'
    requireOne(before, 'retry', canRetry)
    const now = new Date(this.#clock.now())
    const { lateMinutes } = before.post
    const targets = before.targets.map((target) => {
      if (!canRetry(target)) return target
      const plan = target.plan + 1
      tryAgainAt(turn, now.getTime())
      const at = now.toISOString()
      const started = { plan, attemptCount: 0, nextAttemptAt: at, startBy: startBy({ scheduledAt: at }, lateMinutes) }
      return act(target, 'retry', { ...started, problem: null, updatedAt: at })
    })
    return this.#save(turn, before, { ...before, targets })
  }

  /**
   * Deletes a post in Crier.
   * @throws AppError not_found, precondition_failed; post_state_conflict while it is being published
   */
  async remove(turn: Turn, id: string, ifMatch: IfMatch): Promise<void> {
    const before = await loadPost(turn.sql, id)
    requireVersion(ifMatch, before.post.version)
    const busy = before.targets.filter((target) => !canAct(target, 'delete'))
    const status = statusOfPost(before.targets.map((target) => target.status))
    if (busy.length > 0) throw notPossible('delete', status, busy, 'Try again when it has ended.')
    const deletedAt = new Date(this.#clock.now()).toISOString()
    await deletePost(turn, before, deletedAt)
    turn.emit(postDeleted, { postId: id })
    turn.audit({ kind: 'post', id })
  }

  async #timeFor(
    turn: Turn,
    before: LoadedPost,
    { onFull, queue, scheduledFor, timezone }: RescheduleInput,
    planned: Untimed,
  ): Promise<PlannedTime> {
    if ((queue === undefined) === (scheduledFor === undefined)) {
      const message = queue === undefined ? 'is required, or `queue`' : 'cannot be combined with queue'
      throw ValidationFailed({ errors: [{ path: '/body/scheduledFor', code: 'required', message }] })
    }
    if (scheduledFor !== undefined) {
      const zone = timezone ?? before.post.timeZone ?? (await timeZoneOf(turn.sql, turn.workspaceId))
      const time = plannedTime(scheduledFor, zone)
      requireToCome(time, new Date(this.#clock.now()).toISOString(), PUBLISH)
      if (onFull === 'move') return this.#room.moved(turn, withTime(planned, time), time)
      await this.#room.require(turn, withTime(planned, time))
      return time
    }
    const accountIds = planned.chosen.map(({ accountId }) => accountId)
    const needs = this.#room.needs({ ...planned, targets: planned.chosen })
    const hasRoom = (at: number) => this.#room.hasRoom(turn, needs, at)
    return this.#slots.next(turn, { accountIds, label: labelOf(queue), hasRoom })
  }

  /** The time of a post or target after a shift; null without one. @throws AppError validation_failed */
  #moved(row: Parameters<typeof timeOfPost>[0], { days = 0, minutes = 0 }: Shift): PlannedTime | null {
    const time = timeOfPost(row)
    const local = time === null ? undefined : parseLocal(time.localTime)
    if (time === null || local === undefined) return null
    const onDay = days === 0 ? time : plannedTime(formatLocal(local + days * DAY), time.timeZone)
    const at = new Date(Date.parse(onDay.scheduledAt) + minutes * MINUTE).toISOString()
    const moved = minutes === 0 ? onDay : plannedTime(at, time.timeZone)
    requireToCome(moved, new Date(this.#clock.now()).toISOString(), PUBLISH)
    return moved
  }

  /** Schedules the targets that can be, and checks them first. */
  async #scheduleAll(
    turn: Turn,
    before: LoadedPost,
    timeFor: (planned: Untimed) => Promise<PlannedTime>,
    isMeant: (target: TargetRow) => boolean,
  ): Promise<LoadedPost> {
    const at = new Date(this.#clock.now()).toISOString()
    const isChosen = (target: TargetRow) => canAct(target, 'schedule') && isMeant(target)
    requireOne(before, 'schedule', isChosen)
    const chosen = before.targets.filter((target) => isChosen(target))
    const { body } = before.post
    const resources = await this.#checks.resources(turn, body, chosen)
    this.#checks.require(body, chosen, resources)
    this.#checks.requireUsable(chosen, resources)
    // Their own times do not keep them from a new one.
    reservationsOf(turn).change(chosen, [])
    const time = await timeFor({ body, resources, chosen })
    const planned = { time, at, lateMinutes: before.post.lateMinutes }
    const place = (await this.#approvals.get().applies(turn)) ? timed : scheduled
    const targets = before.targets.map((target) => (isChosen(target) ? place(turn, target, planned) : target))
    return { post: { ...before.post, ...timesOf(time), updatedAt: at }, targets }
  }

  async #save(turn: Turn, before: LoadedPost, after: LoadedPost): Promise<PostData> {
    const updatedAt = new Date(this.#clock.now()).toISOString()
    turn.audit({ kind: 'post', id: before.post.id })
    return savePost(turn, before, { ...after, post: { ...after.post, updatedAt } })
  }
}

/** A post that got a time. */
export interface TimedPost {
  readonly post: PostData
  /** Says that the post waits for an approval instead. */
  readonly waits: string | undefined
}

/** What a post waits for that got a time and is not scheduled. @param then what happens after the approval */
function waitsFor(before: LoadedPost, { post, targets }: LoadedPost, then: string): string | undefined {
  const has = (status: TargetRow['status']) => targets.some((target) => target.status === status)
  if (has('ready')) return 'Post is approved, and waits to be released'
  if (!has('in_review')) return undefined
  const isReopened = before.post.approval !== null && before.post.approval.opening !== post.approval?.opening
  const verb = isReopened ? 'went back into review' : 'is in review'
  return `Post ${verb}, and is ${then} once it is approved`
}

/** What is to be scheduled, before it has a time. */
interface Untimed {
  readonly body: PostBody
  readonly resources: Resources
  readonly chosen: readonly TargetRow[]
}

function withTime({ body, chosen, resources }: Untimed, time: PlannedTime): Planned {
  const targets = chosen.map(({ accountId, override }) => ({ accountId, override, time, ownTime: false }))
  return { body, resources, targets, label: null }
}

/** @throws AppError post_state_conflict if the action is possible for no target */
function requireOne({ targets }: LoadedPost, action: TargetAction, isPossible: (target: TargetRow) => boolean): void {
  if (targets.some((target) => isPossible(target))) return
  const status = statusOfPost(targets.map((target) => target.status))
  throw notPossible(action, status, targets, targets.length === 0 ? 'It names no account.' : '')
}
