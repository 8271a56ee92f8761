import { SECOND, type Clock } from '../../../../core/clock.ts'
import type { PublishState, RemotePost } from '../../../../platforms/publishing.ts'
import type { ClaimedSegment } from '../claims/claims.ts'
import type { LeaseTimes } from '../claims/lease.ts'
import type { ProgressLedger, SegmentChange } from './progress-ledger.ts'

/** Another attempt has taken the target, or it was cancelled. Nothing of this attempt may take effect. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

/** A segment as an attempt works on it. Changed with each write, so that it always shows what is stored. */
export type LiveSegment = { -readonly [K in keyof ClaimedSegment]: ClaimedSegment[K] }

interface Owner {
  readonly targetId: string
  readonly attemptId: string
  readonly times: LeaseTimes
  /** When the target was claimed, or earlier. */
  readonly began: Moment
}

/** A time on both clocks. */
export interface Moment {
  readonly wall: number
  readonly monotonic: number
}

export function momentOf(clock: Clock): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() }
}

/**
 * Writes the progress of one attempt. Each write succeeds only while the attempt owns the target, and extends its lease.
 */
export class AttemptProgress {
  readonly #ledger: ProgressLedger
  readonly #clock: Clock
  readonly #owner: Owner
  /** When the lease was last extended. */
  #extendedAt: Moment

  constructor(ledger: ProgressLedger, clock: Clock, owner: Owner) {
    this.#ledger = ledger
    this.#clock = clock
    this.#owner = owner
    this.#extendedAt = owner.began
  }

  /** Extends the lease. @throws FencedError */
  async extend(): Promise<void> {
    await this.#store({})
  }

  /** Stores the state before the next step, which does not publish. @throws FencedError */
  async step(segment: LiveSegment, state: PublishState): Promise<void> {
    await this.#write(segment, { state })
    segment.state = state
  }

  /** Records that the call that publishes is about to be made. @throws FencedError */
  async calling(segment: LiveSegment, state: PublishState): Promise<void> {
    const calledAt = segment.calledAt ?? this.#clock.now()
    const sentBy = this.#clock.now() + this.#owner.times.leaseMs
    await this.#write(segment, { state, status: 'calling', called_at: iso(calledAt), sent_by: iso(sentBy) })
    Object.assign(segment, { state, status: 'calling', calledAt, sentBy })
  }

  /** Records that the call that publishes has ended, and its outcome is unknown. @throws FencedError */
  async lost(segment: LiveSegment): Promise<void> {
    const sentBy = this.#clock.now()
    await this.#write(segment, { sent_by: iso(sentBy) })
    segment.sentBy = sentBy
  }

  /** Records that the platform has published the segment. @throws FencedError */
  async published(segment: LiveSegment, remote: RemotePost): Promise<void> {
    await this.#write(segment, { remote, status: 'published', published_at: iso(this.#clock.now()) })
    Object.assign(segment, { remote, status: 'published' })
  }

  /** Records that the platform refused the only call so far, so that it can be made again. @throws FencedError */
  async refused(segment: LiveSegment): Promise<void> {
    await this.#write(segment, { status: 'pending', called_at: null, sent_by: null })
    Object.assign(segment, { status: 'pending', calledAt: null, sentBy: null })
  }

  /** Records that the platform took the call and then gave up, so that everything begins again. @throws FencedError */
  async dropped(segment: LiveSegment): Promise<void> {
    await this.#write(segment, { state: null, status: 'pending', called_at: null, sent_by: null })
    Object.assign(segment, { state: null, status: 'pending', calledAt: null, sentBy: null })
  }

  /** Records that the platform does not have the post of an earlier call. @throws FencedError */
  async absent(segment: LiveSegment): Promise<void> {
    await this.#write(segment, { status: 'pending' })
    segment.status = 'pending'
  }

  /**
   * Whether something can still be sent to the platform. The margin covers the time to the platform, and differences
   * between the clocks of the nodes. Both clocks count: the monotonic one stands still while the machine sleeps, and
   * the wall clock can be set back.
   * @throws FencedError when the lease has ended or is about to, such as after a pause of the process
   */
  requireLease(): void {
    const { leaseMs, marginMs } = this.#owner.times
    const { monotonic, wall } = this.#extendedAt
    const age = Math.max(this.#clock.monotonic() - monotonic, this.#clock.now() - wall)
    if (age >= leaseMs - marginMs) throw new FencedError(`the lease was extended ${Math.round(age / SECOND)} s ago`)
  }

  async #write({ id: segmentId }: LiveSegment, change: SegmentChange): Promise<void> {
    await this.#store({ segmentId, change })
  }

  async #store(write: { readonly segmentId?: string; readonly change?: SegmentChange }): Promise<void> {
    const { attemptId, targetId, times } = this.#owner
    const began = momentOf(this.#clock)
    const until = iso(began.wall + times.leaseMs)
    if (!(await this.#ledger.write({ targetId, attemptId, at: iso(began.wall), until, ...write }))) {
      throw new FencedError('another attempt has taken the target')
    }
    this.#extendedAt = began
  }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
