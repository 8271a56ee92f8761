import type { Reply } from './links/frames.ts'

type Answer = (reply: Reply) => void

interface Entry {
  reply: Reply | undefined
  waiting: Answer[]
}

/**
 * Operations that came from other nodes, with what became of them: one that is sent again, because the link broke before
 * its answer, is answered from here. Bounded; the host's own memory, in the database, is the one that is relied upon.
 *
 * Forgets by the generation: a map from which the oldest entry is taken each time walks over all that were taken before.
 */
export class RecentOutcomes {
  #young = new Map<string, Entry>()
  #old = new Map<string, Entry>()
  readonly #generation: number
  readonly #generationBytes: number
  #bytes = 0

  /**
   * @param least outcomes that are remembered; at most twice as many
   * @param mostBytes of their texts, in two generations
   */
  constructor(least = 8_192, mostBytes = 16 << 20) {
    this.#generation = least
    this.#generationBytes = mostBytes / 2
  }

  /** @returns false when the operation is new; else `answer` gets what the first attempt gets, at once or later */
  join(operationId: string, answer: Answer): boolean {
    const entry = this.#young.get(operationId) ?? this.#old.get(operationId)
    if (entry === undefined) return false
    if (entry.reply) answer(entry.reply)
    else entry.waiting.push(answer)
    return true
  }

  /** Begins to remember an operation. @returns what to call with its reply */
  begin(operationId: string, answer: Answer): Answer {
    const entry: Entry = { reply: undefined, waiting: [answer] }
    this.#young.set(operationId, entry)
    return (reply) => {
      for (const waiting of entry.waiting.splice(0)) waiting(reply)
      // Only what was done or failed is an outcome; everything else may be tried again.
      if (reply.kind === 'value' || reply.kind === 'error') {
        entry.reply = reply
        this.#bytes += reply.text.length
        if (this.#young.size >= this.#generation || this.#bytes >= this.#generationBytes) this.#age()
      } else {
        for (const entries of [this.#young, this.#old]) {
          if (entries.get(operationId) === entry) entries.delete(operationId)
        }
      }
    }
  }

  /** What is under way is never forgotten. */
  #age(): void {
    const forgotten = this.#old
    this.#old = this.#young
    this.#young = new Map()
    this.#bytes = 0
    for (const [operationId, entry] of forgotten) {
      if (entry.reply === undefined) this.#young.set(operationId, entry)
    }
  }
}
