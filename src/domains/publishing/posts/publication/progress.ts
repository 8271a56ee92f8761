import type { Clock } from '../../../../core/clock.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { PublishState, RemotePost } from '../../../../platforms/publishing.ts'
import { LEASE_MS } from './desk.ts'

/** Another attempt has taken the target, or it was cancelled. Nothing of this attempt may take effect. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

/**
 * Writes the progress of one attempt. Each write succeeds only while the attempt owns the target, and extends its lease.
 * One statement each, because the check and the write must be one step.
 */
export class AttemptProgress {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #targetId: string
  readonly #attemptId: string
  /** When the lease ends, on the clock of `Clock.monotonic`. */
  #leaseEnds: number

  constructor(sql: Sql, clock: Clock, { attemptId, targetId }: { targetId: string; attemptId: string }) {
    this.#sql = sql
    this.#clock = clock
    this.#targetId = targetId
    this.#attemptId = attemptId
    this.#leaseEnds = clock.monotonic() + LEASE_MS
  }

  /** Extends the lease. @throws FencedError */
  async extend(): Promise<void> {
    const [now, until, began] = this.#times()
    const kept = await this.#sql.run(
      `update post_targets set lease_until = $1
       where id = $2 and attempt_id = $3 and lease_until > $4`,
      [until, this.#targetId, this.#attemptId, now],
    )
    this.#extended(kept, began)
  }

  /** Stores the state before the next step. @throws FencedError */
  async step(segmentId: string, state: PublishState): Promise<void> {
    await this.#write(segmentId, `state = $6::jsonb, status = 'pending'`, [JSON.stringify(state)])
  }

  /** Records that the call that publishes is about to be made. @throws FencedError */
  async calling(segmentId: string, state: PublishState): Promise<void> {
    const calledAt = new Date(this.#clock.now()).toISOString()
    await this.#write(
      segmentId,
      `state = $6::jsonb, status = 'calling', called_at = coalesce(case when s.status = 'calling' then s.called_at end, $7::timestamptz)`,
      [JSON.stringify(state), calledAt],
    )
  }

  /** Records that the platform has published the segment. @throws FencedError */
  async published(segmentId: string, remote: RemotePost): Promise<void> {
    const at = new Date(this.#clock.now()).toISOString()
    await this.#write(segmentId, `remote = $6::jsonb, status = 'published', published_at = $7::timestamptz`, [
      JSON.stringify(remote),
      at,
    ])
  }

  /** Records that the call that publishes had no effect, so that it can be made again. @throws FencedError */
  async notPublished(segmentId: string, state: PublishState | null): Promise<void> {
    await this.#write(segmentId, `status = 'pending', called_at = null, state = $6::jsonb`, [
      state === null ? null : JSON.stringify(state),
    ])
  }

  /** @throws FencedError when the lease may have ended, such as after a pause of the process */
  requireLease(): void {
    if (this.#clock.monotonic() >= this.#leaseEnds) throw new FencedError('the lease has ended')
  }

  async #write(segmentId: string, changes: string, values: readonly (string | null)[]): Promise<void> {
    const [now, until, began] = this.#times()
    const written = await this.#sql.run(
      `with owned as (
         update post_targets set lease_until = $1
         where id = $2 and attempt_id = $3 and lease_until > $4
         returning id
       )
       update post_segments s set ${changes}, updated_at = $4 from owned where s.id = $5 and s.target_id = owned.id`,
      [until, this.#targetId, this.#attemptId, now, segmentId, ...values],
    )
    this.#extended(written, began)
  }

  #times(): [now: string, until: string, began: number] {
    const now = this.#clock.now()
    return [new Date(now).toISOString(), new Date(now + LEASE_MS).toISOString(), this.#clock.monotonic()]
  }

  #extended(written: number, began: number): void {
    if (written === 0) throw new FencedError('another attempt has taken the target')
    this.#leaseEnds = began + LEASE_MS
  }
}
