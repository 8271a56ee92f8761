import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../core/id.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import { CallRecorder } from '../../../../platforms/http/call-recorder.ts'
import type { AccountCalls } from '../../../social/accounts/index.ts'
import { Attempt } from './attempt.ts'
import type { LeaseTimes } from './lease.ts'
import type { MediaSources } from './media-source.ts'
import { AttemptProgress, FencedError, momentOf } from './progress.ts'
import { claimTarget, settleTarget } from './turns.ts'

interface PublisherNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly turns: TurnRunner
  readonly calls: AccountCalls
  readonly media: MediaSources
  readonly times: LeaseTimes
  readonly random?: () => number
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

interface Run {
  readonly targetId: string
  readonly plan: number
  readonly workspaceId: string
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Publishes targets: claims one in a turn, makes an attempt, and settles the outcome in another turn. */
export class Publisher {
  readonly #needs: PublisherNeeds

  constructor(needs: PublisherNeeds) {
    this.#needs = needs
  }

  /** Runs one attempt, if the target is due and nobody else has it. */
  async run({ log, plan, signal, targetId, workspaceId }: Run): Promise<void> {
    const { calls, clock, media, random = Math.random, sql, times, turns, wait = sleep } = this.#needs
    const attemptId = uuidv7(clock.now())
    // Before the claim, so that the lease never seems to last longer than it does.
    const began = momentOf(clock)
    const claim = await turns.system(workspaceId, claimTarget, { targetId, plan, attemptId })
    if (claim === null) return
    const made = new CallRecorder()
    const progress = new AttemptProgress(sql, clock, { targetId, attemptId, times, began })
    const stop = new AbortController()
    const beat = setInterval(() => {
      progress.extend().catch((error: unknown) => {
        if (error instanceof FencedError) stop.abort(error)
        else log.warn({ error, targetId }, 'the lease of a publication could not be extended')
      })
    }, times.leaseMs / 4)
    beat.unref()
    try {
      const both = AbortSignal.any([signal, stop.signal])
      const attempt = new Attempt(
        { clock, calls, media, random, wait, log, progress, signal: both, onCall: made.add },
        claim,
      )
      const outcome = await attempt.run()
      await turns.system(workspaceId, settleTarget, { targetId, attemptId, outcome, calls: made.recorded().calls })
    } catch (error) {
      if (!(error instanceof FencedError)) throw error
      log.info({ targetId, attemptId }, 'a publication was taken over or cancelled')
    } finally {
      clearInterval(beat)
    }
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<unknown> {
  return delay(ms, undefined, { signal })
}
