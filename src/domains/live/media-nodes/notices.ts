import type { Turn } from '../../../core/turn.ts'
import type { Coordination } from '../../../coordination/coordination.ts'

const CHANNEL = 'streams'

/** Says that a stream's row has changed, or asks for one of its destinations to be connected now. */
export interface StreamNotice {
  readonly streamId: string
  readonly retry?: string
  /** Files are to be played, and perhaps no node does so yet. */
  readonly broadcast?: true
}

/**
 * Tells the media nodes which stream to look at again. A notice carries no state: whoever hears it reads the database,
 * which holds the truth.
 */
export class StreamNotices {
  readonly #coordination: Coordination

  constructor(coordination: Coordination) {
    this.#coordination = coordination
  }

  /** After the commit. */
  changed(turn: Turn, streamId: string): void {
    turn.afterCommit(() => this.#coordination.publish(CHANNEL, { streamId } satisfies StreamNotice))
  }

  /** What a stream plays from files has changed. */
  broadcast(turn: Turn, streamId: string): void {
    turn.afterCommit(() => this.#coordination.publish(CHANNEL, { streamId, broadcast: true } satisfies StreamNotice))
  }

  retry(turn: Turn, streamId: string, destinationId: string): void {
    turn.afterCommit(() =>
      this.#coordination.publish(CHANNEL, { streamId, retry: destinationId } satisfies StreamNotice),
    )
  }

  /** @param onMissed called when notices may have been lost */
  listen(onNotice: (notice: StreamNotice) => void, onMissed: () => void): () => void {
    const ends = [
      this.#coordination.subscribe(CHANNEL, (message) => onNotice(message as StreamNotice)),
      this.#coordination.onRecovered(onMissed),
    ]
    return () => ends.forEach((end) => end())
  }
}
