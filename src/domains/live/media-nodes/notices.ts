import type { Turn } from '../../../core/turn.ts'
import type { Coordination } from '../../../coordination/coordination.ts'

const CHANNEL = 'streams'

/** Tells media nodes that a stream has changed, or that one of its destinations should be connected now. */
export interface StreamNotice {
  readonly streamId: string
  readonly retry?: string
  /** The playout has changed, and possibly no node has it yet. */
  readonly broadcast?: true
}

/**
 * Tells media nodes which stream to read again. A notice carries no state: nodes read the state from the database.
 */
export class StreamNotices {
  readonly #coordination: Coordination

  constructor(coordination: Coordination) {
    this.#coordination = coordination
  }

  /** Publishes, after the commit, that a stream has changed. */
  changed(turn: Turn, streamId: string): void {
    turn.afterCommit(() => this.#coordination.publish(CHANNEL, { streamId } satisfies StreamNotice))
  }

  /** Publishes, after the commit, that the playout of a stream has changed. */
  broadcast(turn: Turn, streamId: string): void {
    turn.afterCommit(() => this.#coordination.publish(CHANNEL, { streamId, broadcast: true } satisfies StreamNotice))
  }

  retry(turn: Turn, streamId: string, destinationId: string): void {
    turn.afterCommit(() =>
      this.#coordination.publish(CHANNEL, { streamId, retry: destinationId } satisfies StreamNotice),
    )
  }

  /** @param onMissed is called when notices may have been lost */
  listen(onNotice: (notice: StreamNotice) => void, onMissed: () => void): () => void {
    const ends = [
      this.#coordination.subscribe(CHANNEL, (message) => onNotice(message as StreamNotice)),
      this.#coordination.onRecovered(onMissed),
    ]
    return () => ends.forEach((end) => end())
  }
}
