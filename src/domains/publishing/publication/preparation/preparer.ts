import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import { PlatformError } from '../../../../platforms/error-kinds.ts'
import type { PublishContext, Publishing } from '../../../../platforms/publishing.ts'
import { CallRecorder } from '../../../../platforms/http/call-recorder.ts'
import type { AccountCalls, OpenedAccount } from '../../../social/accounts/index.ts'
import { type TargetProblem, PROBLEMS, problemOf } from '../../posts/index.ts'
import type { LeaseTimes } from '../claims/lease.ts'
import type { LinkPages } from '../../../../platforms/link-card.ts'
import type { MediaSources } from '../attempts/media-source.ts'
import { AttemptProgress, FencedError, momentOf, type LiveSegment } from '../attempts/progress.ts'
import { ProgressLedger } from '../attempts/progress-ledger.ts'
import { STOP_MS } from './claims.ts'
import { claimPreparation, settlePreparation } from './turns.ts'

interface PreparerNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly turns: TurnRunner
  readonly calls: AccountCalls
  readonly media: MediaSources
  readonly pages: LinkPages
  readonly times: LeaseTimes
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

interface Run {
  readonly targetId: string
  readonly workspaceId: string
  readonly signal: AbortSignal
  readonly log: Logger
}

/** How a preparation has ended. */
interface Ending {
  readonly problem: TargetProblem | null
  readonly isEnded: boolean
}

/**
 * Makes the steps of a publication that come before the one that publishes, ahead of the time of the post: uploads,
 * containers, checks. It stores each state as an attempt does, so that publication continues at the last step, which is
 * one short call.
 */
export class Preparer {
  readonly #needs: PreparerNeeds
  readonly #ledger: ProgressLedger

  constructor(needs: PreparerNeeds) {
    this.#needs = needs
    this.#ledger = new ProgressLedger(needs.sql)
  }

  /** Prepares a target, if it is due soon and nobody else has it. */
  async run({ log, signal, targetId, workspaceId }: Run): Promise<void> {
    const { clock, times, turns } = this.#needs
    const attemptId = uuidv7(clock.now())
    const began = momentOf(clock)
    const claim = await turns.system(workspaceId, claimPreparation, { targetId, attemptId })
    if (claim === null) return
    const made = new CallRecorder()
    const progress = new AttemptProgress(this.#ledger, clock, { targetId, attemptId, times, began })
    const stop = new AbortController()
    const beat = setInterval(() => {
      progress.extend().catch((error: unknown) => {
        if (error instanceof FencedError) stop.abort(error)
        else log.warn({ error, targetId }, 'the lease of a preparation could not be extended')
      })
    }, times.leaseMs / 4)
    beat.unref()
    const timeOut = setTimeout(() => stop.abort(new OutOfTime()), Math.max(0, claim.dueAt - STOP_MS - clock.now()))
    timeOut.unref()
    const segments = claim.segments.map((segment): LiveSegment => ({ ...segment }))
    const both = AbortSignal.any([signal, stop.signal])
    try {
      const options = { signal: both, onCall: made.add, guard: () => progress.requireLease() }
      const ending = await this.#needs.calls
        .run(claim.accountId, options, (account) => this.#prepareAll(account, workspaceId, segments, progress, both))
        .then((): Ending => ({ problem: null, isEnded: true }))
        .catch((error: unknown) => endingOf(error, both, log))
      await turns.system(workspaceId, settlePreparation, {
        targetId,
        attemptId,
        calls: made.recorded().calls,
        ...ending,
      })
    } catch (error) {
      if (!(error instanceof FencedError)) throw error
      log.info({ targetId, attemptId }, 'a preparation was taken over or cancelled')
    } finally {
      clearInterval(beat)
      clearTimeout(timeOut)
    }
  }

  async #prepareAll(
    { context, platform: { publishing } }: OpenedAccount,
    workspaceId: string,
    segments: readonly LiveSegment[],
    progress: AttemptProgress,
    signal: AbortSignal,
  ): Promise<void> {
    if (publishing?.preparation === undefined) return
    const { replies = false } = publishing.preparation
    const media = this.#needs.media.of(workspaceId, segments)
    for (const segment of segments.filter(({ part }) => part.role === 'post' || (part.role === 'reply' && replies))) {
      await this.#prepare(publishing, { ...context, media, pages: this.#needs.pages }, segment, progress, signal)
    }
  }

  async #prepare(
    publishing: Publishing,
    context: PublishContext,
    segment: LiveSegment,
    progress: AttemptProgress,
    signal: AbortSignal,
  ): Promise<void> {
    let state = segment.state ?? publishing.start(segment.part, context)
    while (!publishing.commits(state) && publishing.preparation?.waits?.(state, segment.part) !== true) {
      signal.throwIfAborted()
      await progress.step(segment, state)
      const result = await publishing.step(context, segment.part, state)
      // The platform has it already. Publication will notice that too.
      if (result.kind === 'published') return
      state = result.state
      if (result.waitMs !== undefined) await (this.#needs.wait ?? sleep)(result.waitMs, signal)
    }
    await progress.step(segment, state)
  }
}

class OutOfTime extends Error {
  override readonly name = 'OutOfTime'
}

/** What follows from an error. One that passes is tried again with the next run of the schedule. @throws FencedError */
function endingOf(error: unknown, signal: AbortSignal, log: Logger): Ending {
  if (signal.reason instanceof FencedError) throw signal.reason
  if (error instanceof FencedError) throw error
  // The publication goes on with it, or another node.
  if (signal.aborted) return { problem: null, isEnded: false }
  if (error instanceof PlatformError) return { problem: problemOf(error), isEnded: error.retry === 'never' }
  log.error({ error }, 'a preparation failed')
  return { problem: PROBLEMS.internal, isEnded: false }
}

function sleep(ms: number, signal: AbortSignal): Promise<unknown> {
  return delay(ms, undefined, { signal })
}
