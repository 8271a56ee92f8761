import type { AnySystemTurn } from '../../../core/system-turn.ts'
import type { Foundation } from '../../../foundation.ts'
import type { MediaDirectory } from '../media-nodes/index.ts'
import { expiredStreams, expireStream, loseIngest, lostStreams, type OverdueStream } from '../streams/index.ts'

const EVERY_MS = 1_000
/** Maximum number of streams per round. */
const MAX = 200

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'log' | 'turns'> & {
  readonly media: MediaDirectory
}

/**
 * Ends streams whose publisher did not return, and records the loss of publishers whose media node is gone. It reads the
 * database, so a restart loses nothing. Several nodes can sweep at the same time, because the turn decides.
 */
export class Sweeper {
  readonly #dependencies: Dependencies
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  #failing = false

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
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
        this.#dependencies.log.warn(
          { error },
          'streams without a publisher could not be ended; trying again every second',
        )
      this.#failing = true
    } finally {
      this.#running = undefined
    }
  }

  async #sweep(): Promise<void> {
    const { clock, media, database: sql } = this.#dependencies
    const now = clock.now()
    const expired = await expiredStreams(sql, new Date(now), MAX)
    await this.#each(expired, expireStream, ({ id: streamId }) => ({ streamId, now }))
    if (!(await media.isSure())) return
    const lost = await lostStreams(sql, media.present(), MAX)
    const at = new Date(now).toISOString()
    await this.#each(lost, loseIngest, ({ id: streamId, nodeId }) => ({ streamId, nodeId, at }))
  }

  async #each<S extends OverdueStream>(streams: readonly S[], turn: AnySystemTurn, input: (stream: S) => unknown) {
    await Promise.all(streams.map((stream) => this.#dependencies.turns.system(stream.workspaceId, turn, input(stream))))
  }
}
