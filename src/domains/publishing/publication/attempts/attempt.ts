import type { Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import { CALLS_PAUSED, PlatformError } from '../../../../platforms/error-kinds.ts'
import type { LoggedCall } from '../../../../platforms/http/platform-http.ts'
import type {
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  RemotePost,
  StepResult,
} from '../../../../platforms/publishing.ts'
import type { AccountCalls, OpenedAccount } from '../../../social/accounts/index.ts'
import { type TargetProblem, PROBLEMS, problemOf } from '../../posts/index.ts'
import type { Claim } from '../claims/claims.ts'
import { INTENT_MS } from '../claims/lease.ts'
import type { LinkPages } from '../../../../platforms/link-card.ts'
import type { MediaSources } from './media-source.ts'
import type { Outcome } from '../outcomes/outcomes.ts'
import { FencedError, type AttemptProgress, type LiveSegment } from './progress.ts'
import {
  ABSENCE_MS,
  GIVE_UP_MS,
  HOLD_MS,
  nextCheckAt,
  pausedDelayMs,
  retryDelayMs,
  togetherMs,
} from './retry-policy.ts'

/** How long a step may ask to wait within an attempt. Longer waits are new attempts. */
const SHORT_WAIT_MS = 5_000
/** How often an attempt that waits for its time looks at the clock, which can be set meanwhile. */
const LOOK_MS = 250

interface AttemptNeeds {
  readonly clock: Clock
  readonly calls: AccountCalls
  readonly media: MediaSources
  readonly pages: LinkPages
  readonly random: () => number
  /** Waits for the time of the target, and between two steps, while a platform processes a file. */
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<unknown>
  /** Why publishing is switched off; undefined if it is on. */
  readonly isOff: () => string | undefined
  readonly log: Logger
  readonly progress: AttemptProgress
  /** Ends the attempt between two steps, and calls that do not publish. */
  readonly signal: AbortSignal
  readonly onCall: (call: LoggedCall) => void
}

/** The platform of an account, opened for calls. */
interface Site {
  readonly publishing: Publishing
  readonly context: PublishContext
  readonly title: string
}

/** Ends an attempt before all segments are published. */
class Ended extends Error {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super('the attempt has ended')
    this.outcome = outcome
  }
}

/**
 * One attempt to publish the segments of a target. It stores the state before each step, and that the call which publishes
 * is about to be made before that call. So the next attempt knows, after any interruption, whether it can repeat a step or
 * has to look at the platform first.
 */
export class Attempt {
  readonly #needs: AttemptNeeds
  readonly #claim: Claim
  readonly #segments: readonly LiveSegment[]
  #site: Site | undefined

  constructor(needs: AttemptNeeds, claim: Claim) {
    this.#needs = needs
    this.#claim = claim
    this.#segments = claim.segments.map((segment) => ({ ...segment }))
  }

  /** @throws FencedError when the target is no longer that of this attempt */
  async run(): Promise<Outcome> {
    const { calls, onCall, progress, signal } = this.#needs
    const guard = () => progress.requireLease()
    try {
      // A renewed token runs this once more, with the segments as they are then.
      await calls.run(this.#claim.accountId, { signal, onCall, guard }, (account) => this.#publishAll(account))
      return { kind: 'published' }
    } catch (error) {
      if (error instanceof FencedError) throw error
      if (error instanceof Ended) return error.outcome
      return this.#outcomeOf(error)
    }
  }

  async #publishAll({ context, platform: { publishing, title } }: OpenedAccount): Promise<void> {
    if (publishing === undefined) throw new PlatformError('unsupported', title)
    const media = this.#needs.media.of(this.#claim.workspaceId, this.#segments)
    const site = { publishing, title, context: { ...context, media, pages: this.#needs.pages } }
    this.#site = site
    const posts: RemotePost[] = []
    for (const segment of this.#segments) {
      const [root] = posts
      const parent = segment.part.role === 'comment' ? root : posts.at(-1)
      segment.part = { ...segment.part, ...(root && { root }), ...(parent && { parent }) }
      posts.push(segment.remote ?? (await this.#publish(site, segment)))
    }
  }

  async #publish(site: Site, segment: LiveSegment): Promise<RemotePost> {
    const { context, publishing } = site
    const { progress } = this.#needs
    if (segment.status === 'calling' && !this.#isAccepted(site, segment) && !this.#canRepeat(site, segment)) {
      const found = await this.#find(site, segment)
      if (found !== undefined) {
        await progress.published(segment, found)
        return found
      }
      await progress.absent(segment)
    }
    if (segment.status !== 'calling') this.#requireAllowed(site)
    const { parent } = segment.part
    if (parent?.id === '') {
      const detail = 'The id of the part before is not known, because a member confirmed it.'
      throw new PlatformError('unsupported', site.title, { detail, mayHaveHappened: false })
    }
    let state = segment.state ?? publishing.start(segment.part, context)
    for (;;) {
      await this.#untilStep(publishing, segment.part, state)
      // An upload may have taken longer than the post can be late.
      if (segment.status !== 'calling' && publishing.commits(state)) this.#requireAllowed(site)
      const result = await this.#step(site, segment, state)
      if (result.kind === 'published') {
        await progress.published(segment, result.post)
        return result.post
      }
      state = result.state
      const waitMs = result.waitMs ?? 0
      if (waitMs > SHORT_WAIT_MS) {
        await progress.step(segment, state)
        throw new Ended(this.#waiting(waitMs, PROBLEMS.processing(site.title)))
      }
      if (waitMs > 0) await this.#needs.wait(waitMs, this.#needs.signal)
    }
  }

  /** Waits until a step can be made: what others could see is not done before the time of the target. */
  async #untilStep({ commits, preparation }: Publishing, part: PublishPart, state: PublishState): Promise<void> {
    const { dueAt } = this.#claim
    const { signal } = this.#needs
    if (commits(state)) await this.#until(dueAt - INTENT_MS, signal)
    else if (preparation === undefined || preparation.waits?.(state, part) === true) await this.#until(dueAt, signal)
  }

  async #until(at: number, signal?: AbortSignal): Promise<void> {
    const { clock, wait } = this.#needs
    for (let left = at - clock.now(); left > 0; left = at - clock.now()) await wait(Math.min(left, LOOK_MS), signal)
  }

  /** @throws Ended when nothing can be published now */
  #requireAllowed({ title }: Site): void {
    const { startBy } = this.#claim
    const off = this.#needs.isOff()
    const held = off === undefined ? this.#claim.held : PROBLEMS.held(off)
    if (held !== null) throw new Ended(this.#waiting(HOLD_MS, held))
    if (this.#needs.clock.now() > startBy) throw new Ended(this.#waiting(0, PROBLEMS.processing(title)))
  }

  /** Whether the platform took the call that publishes, and steps that only ask for the result are left. */
  #isAccepted({ publishing }: Site, { state, status }: LiveSegment): boolean {
    return status === 'calling' && state !== null && !publishing.commits(state)
  }

  /** Whether a call whose outcome is unknown can be made again. */
  #canRepeat({ publishing }: Site, { calledAt, state }: LiveSegment): boolean {
    const now = this.#needs.clock.now()
    const { held, isCheck, startBy } = this.#claim
    const { repeatable } = publishing
    const isRepeatable = typeof repeatable === 'boolean' ? repeatable : state !== null && repeatable(state)
    if (!isRepeatable || held !== null) return false
    if (now - (calledAt ?? now) >= (publishing.repeatableMs ?? GIVE_UP_MS)) return false
    return publishing.reconcile === undefined || !(isCheck || now > startBy)
  }

  /** Stores the state, and makes the step. */
  async #step(site: Site, segment: LiveSegment, state: PublishState): Promise<StepResult> {
    const { context, publishing } = site
    const { progress, signal } = this.#needs
    const earlier = { calledAt: segment.calledAt, status: segment.status }
    const commits = publishing.commits(state)
    signal.throwIfAborted()
    if (commits) {
      await progress.calling(segment, state)
      // From here on the call counts as made. Only the end of the lease can still prevent it.
      await this.#until(this.#claim.dueAt)
    } else await progress.step(segment, state)
    try {
      return await publishing.step(context, segment.part, state)
    } catch (error) {
      if (!commits) {
        const hasGivenUp = error instanceof PlatformError && error.retry === 'never' && !error.mayHaveHappened
        if (hasGivenUp && earlier.status === 'calling') await progress.dropped(segment)
        throw error
      }
      if (!(error instanceof PlatformError) || error.mayHaveHappened) {
        await progress.lost(segment)
        throw error
      }
      // The platform has refused the call, or never got it. That says nothing about an earlier call.
      if (earlier.calledAt === null) await progress.refused(segment)
      else if (error.kind === 'duplicate_content') return this.#refusedAsDuplicate(site, segment)
      else if (earlier.status !== 'calling') await progress.absent(segment)
      throw error
    }
  }

  /**
   * The platform refuses a duplicate, although an earlier call seemed to have no effect. That call probably published
   * it.
   */
  async #refusedAsDuplicate(site: Site, segment: LiveSegment): Promise<StepResult> {
    await this.#needs.progress.lost(segment)
    const found = await site.publishing.reconcile?.(site.context, segment.part, segment.state ?? { step: '' })
    if (found?.kind === 'published') return found
    throw new Ended({ kind: 'unconfirmed', at: null, problem: PROBLEMS.repeated(site.title) })
  }

  /**
   * Asks the platform for a post whose reply was lost.
   * @returns undefined if it was not published
   * @throws Ended if that is not known
   */
  async #find({ context, publishing, title }: Site, segment: LiveSegment): Promise<RemotePost | undefined> {
    if (publishing.reconcile === undefined || segment.state === null) {
      throw new Ended(giveUp(PROBLEMS.unknown(title, `${title} does not let anybody look up posts.`)))
    }
    const found = await publishing.reconcile(context, segment.part, segment.state)
    if (found.kind === 'published') return found.post
    if (found.kind === 'unknown') throw new Ended(giveUp(PROBLEMS.unknown(title, found.reason)))
    if (found.kind === 'pending') throw new Ended(this.#unknown(segment, PROBLEMS.checking(title)))
    // A listing can lag behind, so an early absence proves nothing.
    const now = this.#needs.clock.now()
    if (now - (segment.sentBy ?? now) < ABSENCE_MS) throw new Ended(this.#unknown(segment, PROBLEMS.checking(title)))
    return undefined
  }

  /** The outcome of a call is unknown. The platform is asked at the next check, and after a day the user is asked. */
  #unknown({ sentBy }: LiveSegment, problem: TargetProblem, notBefore = 0): Outcome {
    const now = this.#needs.clock.now()
    const at = nextCheckAt(Math.min(sentBy ?? now, now), now)
    if (at !== undefined) return { kind: 'unconfirmed', at: Math.max(at, notBefore), problem }
    const title = this.#site?.title ?? 'The platform'
    return giveUp(PROBLEMS.unknown(title, `${title} has not answered for a day. ${problem.message}`))
  }

  #waiting(waitMs: number, problem: TargetProblem): Outcome {
    return { kind: 'waiting', at: Math.max(this.#claim.dueAt, this.#needs.clock.now() + waitMs), problem }
  }

  #outcomeOf(error: unknown): Outcome {
    const { clock, log, random, signal } = this.#needs
    const { attemptCount, targetId } = this.#claim
    if (signal.reason instanceof FencedError) throw signal.reason
    const failure = error instanceof PlatformError ? error : undefined
    if (failure === undefined && !signal.aborted) log.error({ error, targetId }, 'an attempt to publish failed')
    const problem = failure ? problemOf(failure) : PROBLEMS.internal
    const isFinal = failure?.retry === 'never'
    const { code, retryAfter } = failure ?? {}
    const delayMs =
      code === CALLS_PAUSED ? pausedDelayMs(retryAfter ?? 0, random) : retryDelayMs(attemptCount, retryAfter, random)
    // A server that shuts down hands over at once.
    const waitMs = signal.aborted ? 0 : togetherMs(clock.now(), delayMs)
    const called = this.#segments.find(({ status }) => status === 'calling')
    if (called === undefined) return isFinal ? { kind: 'failed', problem } : this.#waiting(waitMs, problem)
    const site = this.#site
    const goesOn = site !== undefined && (this.#isAccepted(site, called) || this.#canRepeat(site, called))
    if (goesOn && !isFinal) return this.#waiting(waitMs, problem)
    if (site !== undefined && site.publishing.reconcile === undefined) {
      return giveUp(PROBLEMS.unknown(site.title, `${site.title} does not let anybody look up posts.`))
    }
    const isLost = failure === undefined || failure.mayHaveHappened
    const shown = site !== undefined && isLost ? PROBLEMS.checking(site.title) : problem
    return this.#unknown(called, shown, clock.now() + waitMs)
  }
}

/** Only the user can decide. */
function giveUp(problem: TargetProblem): Outcome {
  return { kind: 'unconfirmed', at: null, problem }
}
