import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Switches } from '../../../../core/ports.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import { CallRecorder } from '../../../../platforms/http/call-recorder.ts'
import type { AccountCalls } from '../../../social/accounts/index.ts'
import { Attempt } from './attempt.ts'
import type { Claim, ClaimInput, Claims } from '../claims/claims.ts'
import { findDue } from '../claims/due.ts'
import { switchedOff } from '../claims/hold.ts'
import type { LeaseTimes } from '../claims/lease.ts'
import type { LinkPages } from '../../../../platforms/link-card.ts'
import type { MediaSources } from './media-source.ts'
import type { SettleInput } from '../outcomes/outcomes.ts'
import { AttemptProgress, FencedError, momentOf, type Moment } from './progress.ts'
import { ProgressLedger } from './progress-ledger.ts'
import { Room } from './room.ts'
import { isBusy, TogetherTurns } from './together.ts'
import { claimTargets, settleTargets } from '../turns.ts'

/** How many targets one turn claims. */
const AT_ONCE = 100
/** How many targets this node has at the same time, so that their calls do not wait long for a connection. */
const MAX = 1_000
/** How many attempts send files at the same time. */
const MAX_WITH_FILES = 100

interface PublisherNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly turns: TurnRunner
  readonly switches: Pick<Switches, 'isOn'>
  readonly calls: AccountCalls
  readonly media: MediaSources
  readonly pages: LinkPages
  readonly times: LeaseTimes
  readonly random?: () => number
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<unknown>
}

interface Run {
  readonly workspaceId: string
  readonly signal: AbortSignal
  readonly log: Logger
  /** The only target to publish. */
  readonly targetId?: string
}

/**
 * Publishes the targets of a workspace that are due: claims them in turns, makes an attempt for each, and settles the
 * outcomes in turns. Those that are due in a moment are claimed as well, and wait here for their time.
 */
export class Publisher {
  readonly #needs: PublisherNeeds
  readonly #ledger: ProgressLedger
  readonly #settles: TogetherTurns<SettleInput>
  readonly #room = new Room(MAX)
  readonly #roomForFiles = new Room(MAX_WITH_FILES)

  constructor(needs: PublisherNeeds) {
    this.#needs = needs
    this.#ledger = new ProgressLedger(needs.sql)
    this.#settles = new TogetherTurns(needs.turns, settleTargets)
  }

  /** Makes one attempt for each target that is due and that nobody else has. */
  async run({ targetId, ...run }: Run): Promise<void> {
    const attempts: Promise<void>[] = []
    const input = { most: AT_ONCE, ...(targetId !== undefined && { targetId }) }
    let isMore = true
    try {
      while (isMore && !run.signal.aborted) isMore = (await this.#claim(run, input, attempts)).isMore
    } catch (error) {
      if (isBusy(error)) throw error
      run.log.error({ error, workspaceId: run.workspaceId }, 'due posts could not be claimed together')
      await this.#claimEach(run, attempts)
    } finally {
      await Promise.all(attempts)
    }
    // The job is handed back, and another node claims the rest.
    if (isMore) run.signal.throwIfAborted()
  }

  /** Claims targets one by one, so that one whose claim fails does not keep back the others. @throws the last error */
  async #claimEach(run: Run, attempts: Promise<void>[]): Promise<void> {
    const { clock, sql } = this.#needs
    const due = await findDue(sql, { workspaceId: run.workspaceId, now: clock.now(), most: MAX })
    let failure: unknown
    for (const { id: targetId } of due) {
      try {
        await this.#claim(run, { most: 1, targetId }, attempts)
      } catch (error) {
        failure = error
      }
    }
    if (failure !== undefined) throw failure
  }

  /** Claims targets, and begins an attempt for each. */
  async #claim(run: Run, input: ClaimInput, attempts: Promise<void>[]): Promise<Claims> {
    const { clock, turns } = this.#needs
    await this.#room.take(input.most)
    let taken = 0
    try {
      // Before the claim, so that the lease never seems to last longer than it does.
      const began = momentOf(clock)
      const claimed = await turns.system(run.workspaceId, claimTargets, input)
      taken = claimed.claims.length
      for (const claim of claimed.claims) {
        attempts.push(this.#attempt(run, claim, began).finally(() => this.#room.give(1)))
      }
      return claimed
    } finally {
      this.#room.give(input.most - taken)
    }
  }

  /** Makes one attempt and settles its outcome. Whatever goes wrong here, the watchdog goes on when the lease has ended. */
  async #attempt({ log, signal }: Run, claim: Claim, began: Moment): Promise<void> {
    const { calls, clock, media, pages, random = Math.random, switches, times, wait = sleep } = this.#needs
    const { attemptId, targetId, workspaceId } = claim
    const made = new CallRecorder()
    const progress = new AttemptProgress(this.#ledger, clock, { targetId, attemptId, times, began })
    const stop = new AbortController()
    const beat = setInterval(() => {
      progress.extend().catch((error: unknown) => {
        if (error instanceof FencedError) stop.abort(error)
        else log.warn({ error, targetId }, 'the lease of a publication could not be extended')
      })
    }, times.leaseMs / 4)
    beat.unref()
    const both = AbortSignal.any([signal, stop.signal])
    const isOff = () => switchedOff(switches)
    const attempt = new Attempt(
      { clock, calls, media, pages, random, wait, log, progress, isOff, signal: both, onCall: made.add },
      claim,
    )
    try {
      const outcome = await (hasFiles(claim) ? this.#roomForFiles.within(() => attempt.run()) : attempt.run())
      await this.#settle(workspaceId, { targetId, attemptId, outcome, calls: made.recorded().calls }, signal)
    } catch (error) {
      if (error instanceof FencedError) log.info({ targetId, attemptId }, 'a publication was taken over or cancelled')
      else log.error({ error, targetId, attemptId }, 'the outcome of a publication could not be stored')
    } finally {
      clearInterval(beat)
    }
  }

  /** Stores an outcome, again for some time if the server is too busy. The lease lasts meanwhile. */
  async #settle(workspaceId: string, input: SettleInput, signal: AbortSignal): Promise<void> {
    const { wait = sleep } = this.#needs
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#settles.run(workspaceId, input)
      } catch (error) {
        if (!isBusy(error) || tries === SETTLE_TRIES || signal.aborted) throw error
        await wait(SETTLE_PAUSE_MS)
      }
    }
  }
}

/** How often, and with which pause, an outcome is stored while the server is too busy for it. */
const SETTLE_TRIES = 5
const SETTLE_PAUSE_MS = 2_000

/** Whether an attempt has files to send that were not prepared. */
function hasFiles({ segments }: Claim): boolean {
  return segments.some(({ part, state }) => state === null && part.media.length > 0)
}

function sleep(ms: number, signal?: AbortSignal): Promise<unknown> {
  return delay(ms, undefined, { ...(signal && { signal }) })
}
