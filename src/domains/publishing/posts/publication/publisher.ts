import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import { PlatformError } from '../../../../platforms/error-kinds.ts'
import type { LoggedCall } from '../../../../platforms/http/platform-http.ts'
import type {
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  RemotePost,
} from '../../../../platforms/publishing.ts'
import type { AccountCalls, OpenedAccount } from '../../../social/accounts/index.ts'
import { LEASE_MS, type Claim, type ClaimedSegment, type Outcome } from './desk.ts'
import type { MediaSources } from './media-source.ts'
import { AttemptProgress, FencedError } from './progress.ts'
import { PROBLEMS, problemOf } from './problems.ts'
import { ABSENCE_MS, nextCheckAt, retryDelayMs } from './retry-policy.ts'
import { claimTarget, settleTarget } from './turns.ts'

/** How much of the log of calls is stored with an attempt. */
const MOST_CALLS = 200
/** How long a step may ask to wait within an attempt. Longer waits are new attempts. */
const SHORT_WAIT_MS = 5_000

interface PublisherNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly turns: TurnRunner
  readonly calls: AccountCalls
  readonly media: MediaSources
  readonly random?: () => number
}

interface Run {
  readonly targetId: string
  readonly plan: number
  readonly workspaceId: string
  readonly signal: AbortSignal
  readonly log: Logger
}

/** What one attempt works with. */
interface Work {
  readonly claim: NonNullable<Claim>
  readonly progress: AttemptProgress
  readonly publishing: Publishing
  readonly context: PublishContext
}

/** The outcome of a call is unknown, and the platform has to be asked. */
class OutcomeUnknown extends Error {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super('the outcome of the call is unknown')
    this.outcome = outcome
  }
}

/**
 * Publishes targets. An attempt claims a target in a turn, then works through its segments, and stores the state before
 * each step. Before the call that publishes, it stores that the call is about to be made. So the next attempt knows, after
 * any interruption, whether it can repeat a step or has to look at the platform first.
 */
export class Publisher {
  readonly #needs: PublisherNeeds

  constructor(needs: PublisherNeeds) {
    this.#needs = needs
  }

  /** Runs one attempt, if the target is due and nobody else has it. */
  async run({ log, plan, signal, targetId, workspaceId }: Run): Promise<void> {
    const { clock, sql, turns } = this.#needs
    const attemptId = randomUUID()
    const claim = await turns.system(workspaceId, claimTarget, { targetId, plan, attemptId })
    if (claim === null) return
    const calls: LoggedCall[] = []
    const progress = new AttemptProgress(sql, clock, { targetId, attemptId })
    const stop = new AbortController()
    const beat = setInterval(() => {
      progress.extend().catch((error: unknown) => {
        if (error instanceof FencedError) stop.abort(error)
        else log.warn({ error, targetId }, 'the lease of a publication could not be extended')
      })
    }, LEASE_MS / 3)
    beat.unref()
    try {
      const both = AbortSignal.any([signal, stop.signal])
      const outcome = await this.#attempt(claim, { progress, calls, signal: both })
      await turns.system(workspaceId, settleTarget, { targetId, attemptId, outcome, calls })
    } catch (error) {
      if (!(error instanceof FencedError)) throw error
      log.info({ targetId, attemptId }, 'a publication was taken over or cancelled')
    } finally {
      clearInterval(beat)
    }
  }

  async #attempt(
    claim: NonNullable<Claim>,
    { calls, progress, signal }: { progress: AttemptProgress; calls: LoggedCall[]; signal: AbortSignal },
  ): Promise<Outcome> {
    const onCall = (call: LoggedCall) => {
      if (calls.length < MOST_CALLS) calls.push(call)
    }
    try {
      await this.#needs.calls.run(claim.accountId, { signal, onCall }, async (account) => {
        const { publishing } = account.platform
        if (publishing === undefined) throw new PlatformError('unsupported', account.platform.title)
        const context = { ...account.context, media: this.#needs.media.of(claim.workspaceId, claim.segments) }
        await this.#publishAll({ claim, progress, publishing, context }, account)
      })
      return { kind: 'published' }
    } catch (error) {
      if (error instanceof OutcomeUnknown) return error.outcome
      if (error instanceof PlatformError) return this.#outcomeOf(error, claim)
      throw error
    }
  }

  async #publishAll(work: Work, account: OpenedAccount): Promise<void> {
    const posts: RemotePost[] = []
    for (const segment of work.claim.segments) {
      const [root] = posts
      const parent = segment.part.role === 'comment' ? root : posts.at(-1)
      const part = { ...segment.part, ...(root && { root }), ...(parent && { parent }) }
      const post = segment.remote ?? (await this.#publish(work, account, segment, part))
      posts.push(post)
    }
  }

  async #publish(work: Work, account: OpenedAccount, segment: ClaimedSegment, part: PublishPart): Promise<RemotePost> {
    const { context, progress, publishing } = work
    let state = segment.state ?? publishing.start(part, context)
    const isLate = this.#needs.clock.now() > work.claim.startBy
    if (segment.status === 'calling' && (!publishing.repeatable || (isLate && publishing.reconcile))) {
      const found = await this.#reconcile(work, account, segment, part, state)
      if (found !== undefined) {
        await progress.published(segment.id, found)
        return found
      }
      // The platform has not published it. The call can be made again, with the same state.
      await progress.notPublished(segment.id, state)
      if (isLate) throw new OutcomeUnknown(this.#waiting(0, account.platform.title))
    }
    for (;;) {
      const commits = publishing.commits(state)
      await (commits ? progress.calling(segment.id, state) : progress.step(segment.id, state))
      progress.requireLease()
      const result = await this.#step(work, account, segment, part, state)
      if (result.kind === 'published') {
        await progress.published(segment.id, result.post)
        return result.post
      }
      state = result.state
      const waitMs = result.waitMs ?? 0
      if (waitMs > SHORT_WAIT_MS) {
        await progress.step(segment.id, state)
        throw new OutcomeUnknown(this.#waiting(waitMs, account.platform.title))
      }
      if (waitMs > 0) await this.#sleep(waitMs, context.signal)
    }
  }

  /** Makes one step. If the reply to a step that publishes is lost, the outcome is unknown. */
  async #step(work: Work, account: OpenedAccount, segment: ClaimedSegment, part: PublishPart, state: PublishState) {
    const { context, progress, publishing } = work
    try {
      return await publishing.step(context, part, state)
    } catch (error) {
      if (!(error instanceof PlatformError) || !publishing.commits(state)) throw error
      if (!error.mayHaveHappened) {
        // The platform has refused the call, or never got it.
        await progress.notPublished(segment.id, state)
        throw error
      }
      if (publishing.repeatable) throw error
      throw this.#unknown(publishing, account, this.#needs.clock.now())
    }
  }

  /** Asks the platform for a post whose reply was lost. @returns undefined if it was not published */
  async #reconcile(
    { context, publishing }: Work,
    account: OpenedAccount,
    segment: ClaimedSegment,
    part: PublishPart,
    state: PublishState,
  ): Promise<RemotePost | undefined> {
    const calledAt = segment.calledAt ?? this.#needs.clock.now()
    const { title } = account.platform
    if (publishing.reconcile === undefined) throw this.#unknown(publishing, account, calledAt)
    const found = await publishing.reconcile(context, part, state)
    if (found.kind === 'published') return found.post
    if (found.kind === 'unknown') {
      throw new OutcomeUnknown({ kind: 'unconfirmed', at: null, problem: PROBLEMS.unknown(title, found.reason) })
    }
    // A listing can lag behind, so an early absence proves nothing.
    if (this.#needs.clock.now() - calledAt < ABSENCE_MS) throw this.#unknown(publishing, account, calledAt)
    return undefined
  }

  #unknown(publishing: Publishing, { platform: { title } }: OpenedAccount, calledAt: number): OutcomeUnknown {
    if (publishing.reconcile === undefined) {
      const problem = PROBLEMS.unknown(title, `${title} does not let anybody look up posts.`)
      return new OutcomeUnknown({ kind: 'unconfirmed', at: null, problem })
    }
    const at = nextCheckAt(calledAt, this.#needs.clock.now())
    const problem = at === undefined ? PROBLEMS.unknown(title, `${title} has not answered.`) : PROBLEMS.checking(title)
    return new OutcomeUnknown({ kind: 'unconfirmed', at: at ?? null, problem })
  }

  #waiting(waitMs: number, title: string): Outcome {
    const at = this.#needs.clock.now() + waitMs
    return { kind: 'waiting', at, problem: PROBLEMS.processing(title) }
  }

  #outcomeOf(error: PlatformError, { attemptCount, segments }: NonNullable<Claim>): Outcome {
    const problem = problemOf(error)
    // An expired access is renewed by the user, and the post goes out then, if it is not too late.
    const canWait = error.retry !== 'never'
    if (!canWait) return { kind: 'failed', problem }
    const { clock, random = Math.random } = this.#needs
    const isChecked = segments.some(({ status }) => status === 'calling')
    const at = clock.now() + retryDelayMs(attemptCount, error.retryAfter, random)
    return isChecked ? { kind: 'unconfirmed', at, problem } : { kind: 'waiting', at, problem }
  }

  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { setTimeout: delay } = await import('node:timers/promises')
    await delay(ms, undefined, { ...(signal && { signal }) })
  }
}
