import type { Sql } from '../../../core/sql.ts'
import { recordPeaks } from '../streams/index.ts'

interface Watched {
  sessionId: string | undefined
  viewers: number
}

/**
 * Peak viewers of the previews on this node, by session. The largest value counts, so late or repeated writes have no
 * effect.
 */
export class ViewerPeaks {
  readonly #sql: Sql
  readonly #streams = new Map<string, Watched>()
  /** Peaks by session that are not yet written. */
  #pending = new Map<string, number>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** Records the current number of viewers of a stream. */
  record(streamId: string, viewers: number): void {
    const watched = this.#streams.get(streamId) ?? { sessionId: undefined, viewers: 0 }
    this.#streams.set(streamId, { ...watched, viewers })
    this.#note(watched.sessionId, viewers)
  }

  /** Sets the current session of a stream. Present viewers count for it. */
  setSession(streamId: string, sessionId: string | undefined): void {
    const watched = this.#streams.get(streamId)
    if (watched?.sessionId === sessionId) return
    this.#streams.set(streamId, { viewers: watched?.viewers ?? 0, sessionId })
    this.#note(sessionId, watched?.viewers ?? 0)
  }

  /** The current number of viewers of a stream. */
  viewersOf(streamId: string): number {
    return this.#streams.get(streamId)?.viewers ?? 0
  }

  forget(streamId: string): void {
    this.#streams.delete(streamId)
  }

  /** Writes new peaks. On failure they are kept for the next call. */
  async write(): Promise<void> {
    if (this.#pending.size === 0) return
    const writing = this.#pending
    this.#pending = new Map()
    const rows = [...writing].map(([id, peak]) => ({ id, peak }))
    try {
      await recordPeaks(this.#sql, rows)
    } catch (error) {
      for (const { id, peak } of rows) this.#note(id, peak)
      throw error
    }
  }

  #note(sessionId: string | undefined, viewers: number): void {
    if (sessionId === undefined || viewers <= (this.#pending.get(sessionId) ?? 0)) return
    this.#pending.set(sessionId, viewers)
  }
}
