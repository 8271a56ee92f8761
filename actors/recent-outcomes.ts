import type { Reply } from './links/frames.ts'

type Answer = (reply: Reply) => void

interface Entry {
  reply: Reply | undefined
  bytes: number
  waiting: Answer[]
}

/**
 * Operations that came from other nodes, with what became of them: one that is sent again, because the link broke before
 * its answer, is answered from here. Bounded; the host's own memory, in the database, is the one that is relied upon.
 */
export class RecentOutcomes {
  readonly #entries = new Map<string, Entry>()
  readonly #most: number
  readonly #mostBytes: number
  #bytes = 0

  constructor(most = 8_192, mostBytes = 16 << 20) {
    this.#most = most
    this.#mostBytes = mostBytes
  }

  /** @returns false when the operation is new; else `answer` gets what the first attempt gets, at once or later */
  join(operationId: string, answer: Answer): boolean {
    const entry = this.#entries.get(operationId)
    if (entry === undefined) return false
    if (entry.reply) answer(entry.reply)
    else entry.waiting.push(answer)
    return true
  }

  /** Begins to remember an operation. @returns what to call with its reply */
  begin(operationId: string, answer: Answer): Answer {
    const entry: Entry = { reply: undefined, bytes: 0, waiting: [answer] }
    this.#entries.set(operationId, entry)
    return (reply) => {
      for (const waiting of entry.waiting.splice(0)) waiting(reply)
      // Only what was done or failed is an outcome; everything else may be tried again.
      if (reply.kind === 'value' || reply.kind === 'error') {
        entry.reply = reply
        entry.bytes = reply.text.length
        this.#bytes += entry.bytes
        this.#trim()
      } else if (this.#entries.get(operationId) === entry) this.#entries.delete(operationId)
    }
  }

  #trim(): void {
    for (const [operationId, entry] of this.#entries) {
      if (this.#entries.size <= this.#most && this.#bytes <= this.#mostBytes) return
      if (entry.reply === undefined) continue
      this.#bytes -= entry.bytes
      this.#entries.delete(operationId)
    }
  }
}
