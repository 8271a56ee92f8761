import type { Sql } from '../../../core/sql.ts'
import { recordPeaks } from '../streams/index.ts'

interface Watched {
  sessionId: string | undefined
  viewers: number
}

/**
 * The most people who watched a broadcast's preview at the same time, on this node. Written late or twice it changes
 * nothing: the largest value counts.
 */
export class ViewerPeaks {
  readonly #sql: Sql
  readonly #streams = new Map<string, Watched>()
  /** By broadcast, not yet written. */
  #pending = new Map<string, number>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** How many watch a stream now. */
  record(streamId: string, viewers: number): void {
    const watched = this.#streams.get(streamId) ?? { sessionId: undefined, viewers: 0 }
    this.#streams.set(streamId, { ...watched, viewers })
    this.#note(watched.sessionId, viewers)
  }

  /** Says which broadcast of a stream is under way; those who watch already watch it too. */
  setSession(streamId: string, sessionId: string | undefined): void {
    const watched = this.#streams.get(streamId)
    if (watched?.sessionId === sessionId) return
    this.#streams.set(streamId, { viewers: watched?.viewers ?? 0, sessionId })
    this.#note(sessionId, watched?.viewers ?? 0)
  }

  forget(streamId: string): void {
    this.#streams.delete(streamId)
  }

  /** Writes what has grown. What cannot be written is kept for the next time. */
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
