import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql } from '../../../core/sql.ts'
import type { AnySystemTurn, TurnRunner } from '../../../core/system-turn.ts'
import type { MediaDirectory } from '../media-nodes/index.ts'
import { expiredStreams, expireStream, loseIngest, lostStreams, type OverdueStream } from '../streams/index.ts'

const EVERY_MS = 1_000
/** Maximum number of streams per round. */
const MOST = 200

export interface SweeperOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly turns: TurnRunner
  readonly media: MediaDirectory
  readonly log: Logger
}

/**
 * Ends streams whose publisher did not return, and records the loss of publishers whose media node is gone. It reads the
 * database, so a restart loses nothing. Several nodes can sweep at the same time, because the turn decides.
 */
export class Sweeper {
  readonly #options: SweeperOptions
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  #failing = false

  constructor(options: SweeperOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.sweep(), EVERY_MS)
    this.#timer.unref()
  }

  /** Runs one round. Never rejects: the next round retries what failed. */
  sweep(): Promise<void> {
    this.#running ??= this.#round()
    return this.#running
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #round(): Promise<void> {
    try {
      await this.#sweep()
      this.#failing = false
    } catch (error) {
      if (!this.#failing)
        this.#options.log.warn({ error }, 'streams without a publisher could not be ended; trying again every second')
      this.#failing = true
    } finally {
      this.#running = undefined
    }
  }

  async #sweep(): Promise<void> {
    const { clock, media, sql } = this.#options
    const now = clock.now()
    const expired = await expiredStreams(sql, new Date(now), MOST)
    await this.#each(expired, expireStream, ({ id: streamId }) => ({ streamId, now }))
    if (!(await media.isSure())) return
    const lost = await lostStreams(sql, media.present(), MOST)
    const at = new Date(now).toISOString()
    await this.#each(lost, loseIngest, ({ id: streamId, nodeId }) => ({ streamId, nodeId, at }))
  }

  async #each<S extends OverdueStream>(streams: readonly S[], turn: AnySystemTurn, input: (stream: S) => unknown) {
    await Promise.all(streams.map((stream) => this.#options.turns.system(stream.workspaceId, turn, input(stream))))
  }
}
