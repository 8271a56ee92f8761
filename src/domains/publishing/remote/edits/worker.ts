import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../../core/clock.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import { PlatformError } from '../../../../platforms/error-kinds.ts'
import type { LoggedCall } from '../../../../platforms/http/platform-http.ts'
import type { RemotePost } from '../../../../platforms/publishing.ts'
import type { AccountCalls, OpenedAccount } from '../../../social/accounts/index.ts'
import { problemOf } from '../../posts/index.ts'
import { retryDelayMs } from '../../publication/index.ts'
import { REMOTE_LEASE_MS, type ChangedSegment, type RemoteClaim, type RemoteOutcome } from './remote-changes.ts'
import { claimRemoteChange, settleRemoteChange } from '../turns.ts'

const MAX_CALLS = 200

interface Run {
  readonly targetId: string
  readonly plan: number
  readonly workspaceId: string
  readonly signal: AbortSignal
}

/**
 * Edits and deletes published posts. Both can be repeated: an edit sends the whole text, and a post that does not exist
 * counts as deleted. So an attempt that ends without a result is simply followed by another one.
 */
export class RemoteWorker {
  readonly #clock: Clock
  readonly #turns: TurnRunner
  readonly #calls: AccountCalls
  readonly #random: () => number

  constructor(clock: Clock, turns: TurnRunner, calls: AccountCalls, random: () => number = Math.random) {
    this.#clock = clock
    this.#turns = turns
    this.#calls = calls
    this.#random = random
  }

  /** Runs one attempt, if the change is still to be made and nobody else makes it. */
  async run({ plan, signal, targetId, workspaceId }: Run): Promise<void> {
    const attemptId = randomUUID()
    const began = this.#clock.monotonic()
    const claim = await this.#turns.system(workspaceId, claimRemoteChange, { targetId, plan, attemptId })
    if (claim === null) return
    const done: ChangedSegment[] = []
    const calls: LoggedCall[] = []
    const isOurs = () => this.#clock.monotonic() - began < REMOTE_LEASE_MS
    const outcome = await this.#attempt(claim, { signal, done, calls, isOurs })
    await this.#turns.system(workspaceId, settleRemoteChange, { targetId, attemptId, done, outcome, calls })
  }

  async #attempt(claim: NonNullable<RemoteClaim>, attempt: Attempt): Promise<RemoteOutcome> {
    const onCall = (call: LoggedCall) => {
      if (attempt.calls.length < MAX_CALLS) attempt.calls.push(call)
    }
    try {
      await this.#calls.run(claim.accountId, { signal: attempt.signal, onCall }, (account) =>
        changeAll(claim, account, attempt),
      )
      return { kind: 'done' }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      const problem = problemOf(error)
      // An expired access is for the user to renew; the change can be asked for again then.
      if (error.retry === 'never' || error.retry === 'after_refresh') return { kind: 'failed', problem }
      const at = this.#clock.now() + retryDelayMs(claim.attemptCount, error.retryAfter, this.#random)
      return { kind: 'waiting', at, problem }
    }
  }
}

interface Attempt {
  readonly signal: AbortSignal
  readonly done: ChangedSegment[]
  readonly calls: LoggedCall[]
  /** Whether nobody else can have begun to make the change, such as after a pause of the process. */
  readonly isOurs: () => boolean
}

async function changeAll(
  { edits, removals, root }: NonNullable<RemoteClaim>,
  { context, platform }: OpenedAccount,
  { done, isOurs }: Attempt,
): Promise<void> {
  const { publishing, title } = platform
  const isDone = (id: string) => done.some(({ segmentId }) => segmentId === id)
  const requireOurs = () => {
    if (!isOurs()) throw new PlatformError('network', title, { detail: 'the attempt took too long' })
  }
  for (const { part, remote, segmentId } of edits) {
    if (isDone(segmentId)) continue
    if (publishing?.edit === undefined) throw new PlatformError('unsupported', title)
    requireOurs()
    const edited: RemotePost = await publishing.edit(context, remote, { ...part, ...(root && { root }) })
    done.push({ segmentId, remote: edited, part })
  }
  for (const { remote, segmentId } of removals) {
    if (isDone(segmentId)) continue
    if (publishing?.remove === undefined) throw new PlatformError('unsupported', title)
    requireOurs()
    await publishing.remove(context, remote)
    done.push({ segmentId, remote, part: null })
  }
}
