import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql } from '../../../core/sql.ts'
import type { AnySystemTurn, TurnRunner } from '../../../core/system-turn.ts'
import type { MediaDirectory } from '../media-nodes/index.ts'
import { expiredStreams, expireStream, loseIngest, lostStreams, type OverdueStream } from '../streams/index.ts'

const EVERY_MS = 1_000
/** Streams taken up in one round. */
const MOST = 200

export interface SweeperOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly turns: TurnRunner
  readonly media: MediaDirectory
  readonly log: Logger
}

/**
 * Acts on what time brings, from what the database says, so that no restart loses it: ends streams whose publisher did
 * not come back, and notes publishers whose media node is gone. Any number of nodes may sweep: the turn decides.
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

  /** One round. Never rejects: what failed is tried again in the next one. */
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
      if (!this.#failing) this.#options.log.warn({ error }, 'streams could not be swept; trying again every second')
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
