import { applyChange, EMPTY, fromSnapshot, type ChannelState } from '../domains/talk/chat/state.ts'
import type { ChangeData, SyncData } from '../domains/talk/chat/schemas.ts'

/** Changes that are kept while those before them are asked for; beyond, asking again is cheaper. */
const MOST_KEPT = 1_000

/**
 * One channel as a client has it. Changes may come in any order, twice or not at all; the state only ever moves along
 * the channel's own numbers, and what is missing is known from them.
 */
export class ChannelReplica {
  #state: ChannelState
  readonly #early = new Map<number, ChangeData>()

  /** @param state where to go on, as an earlier replica had it */
  constructor(state: ChannelState = EMPTY) {
    this.#state = state
  }

  get state(): ChannelState {
    return this.#state
  }

  /** Whether changes are known to be missing: ask for those after `state.seq`. */
  get hasGap(): boolean {
    return this.#early.size > 0
  }

  /** Takes a change that came live. @returns the changes that moved the state, in order */
  receive(change: ChangeData): readonly ChangeData[] {
    if (change.seq <= this.#state.seq) return []
    if (this.#early.size >= MOST_KEPT) this.#early.clear()
    this.#early.set(change.seq, change)
    return this.#advance()
  }

  /**
   * Takes an answer to what was asked after `asked`. A snapshot replaces the state, also one with a smaller number:
   * a server that was set back is right. It counts once, so that a client that is ahead does not ask for ever.
   */
  take(page: Pick<SyncData, 'changes' | 'snapshot'>, asked: number): readonly ChangeData[] {
    const { changes, snapshot } = page
    if (snapshot !== null) {
      // Live changes have brought us past it meanwhile.
      if (snapshot.seq <= this.#state.seq && this.#state.seq > asked && snapshot.seq >= asked) return []
      if (snapshot.seq < this.#state.seq) this.#early.clear()
      this.#state = fromSnapshot(snapshot)
      for (const seq of this.#early.keys()) if (seq <= snapshot.seq) this.#early.delete(seq)
      return this.#advance()
    }
    const moved: ChangeData[] = []
    for (const change of changes) moved.push(...this.receive(change))
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
