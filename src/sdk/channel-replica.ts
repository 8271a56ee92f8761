import { applyChange, EMPTY, fromSnapshot, type ChannelState } from '../domains/talk/chat/state.ts'
import type { ChangeData, SyncData } from '../domains/talk/chat/schemas.ts'

/** How many changes are kept while earlier ones are missing. Beyond this, another request is cheaper. */
const MAX_KEPT = 1_000

/**
 * A client's copy of one channel. Changes may arrive in any order, twice or not at all. They are applied strictly in
 * the order of the channel's sequence numbers, which also show what is missing.
 */
export class ChannelReplica {
  #state: ChannelState
  readonly #early = new Map<number, ChangeData>()

  /** @param state the state of an earlier replica to continue from */
  constructor(state: ChannelState = EMPTY) {
    this.#state = state
  }

  get state(): ChannelState {
    return this.#state
  }

  /** Whether changes are missing. If so, request those after `state.seq`. */
  get hasGap(): boolean {
    return this.#early.size > 0
  }

  /**
   * Receives a live change.
   * @returns the applied changes, in order
   */
  receive(change: ChangeData): readonly ChangeData[] {
    if (change.seq <= this.#state.seq) return []
    if (this.#early.size >= MAX_KEPT) this.#early.clear()
    this.#early.set(change.seq, change)
    return this.#advance()
  }

  /**
   * Applies the reply to a request for the changes after `asked`. A snapshot replaces the state, even if its number is
   * smaller, because a server that was restored from a backup is right. It is applied only once, so that a client that
   * is ahead does not keep requesting. One of another generation also replaces live changes, which may have been applied to
   * a state that the server no longer has; the changes after it must then be requested.
   */
  take(page: Pick<SyncData, 'changes' | 'generation' | 'snapshot'>, asked: number): readonly ChangeData[] {
    const { changes, generation, snapshot } = page
    const isOther = this.#state.generation !== undefined && this.#state.generation !== generation
    if (snapshot !== null) {
      // Live changes have already moved the state beyond it.
      if (!isOther && snapshot.seq <= this.#state.seq && this.#state.seq > asked && snapshot.seq >= asked) return []
      if (isOther || snapshot.seq < this.#state.seq) this.#early.clear()
      this.#state = { ...fromSnapshot(snapshot), generation }
      for (const seq of this.#early.keys()) if (seq <= snapshot.seq) this.#early.delete(seq)
      return this.#advance()
    }
    const moved: ChangeData[] = []
    for (const change of changes) moved.push(...this.receive(change))
    this.#state = { ...this.#state, generation }
    return moved
  }

  #advance(): ChangeData[] {
    const moved: ChangeData[] = []
    for (;;) {
      const next = this.#early.get(this.#state.seq + 1)
      if (next === undefined) return moved
      this.#early.delete(next.seq)
      this.#state = applyChange(this.#state, next)
      moved.push(next)
    }
  }
}
