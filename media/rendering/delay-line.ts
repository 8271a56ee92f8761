import type { GroupCacheLimits } from '../relay/group-cache.ts'
import type { RelayBatch, RelayMessage } from '../relay/relay-message.ts'
import { Source, type Output } from '../relay/source.ts'

/** More than 30 s of what any platform takes. Beyond it what is oldest goes out early. */
const MOST_BYTES = 64 * 1024 * 1024
const STEP_MS = 20

/** A source as it was some time ago. */
export class DelayLine implements Output {
  readonly source: Source
  readonly #from: Source
  readonly #delayMs: number
  readonly #timer: NodeJS.Timeout
  #waiting: { readonly message: RelayMessage; readonly due: number }[] = []
  #bytes = 0

  constructor(from: Source, delayMs: number, limits: GroupCacheLimits) {
    this.source = new Source(limits)
    this.#from = from
    this.#delayMs = delayMs
    this.#take(from.replay(MOST_BYTES).messages)
    from.add(this)
    this.#timer = setInterval(() => this.#release(), STEP_MS)
  }

  write(batch: RelayBatch): void {
    this.#take(batch.messages)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#from.remove(this)
    this.#waiting = []
  }

  #take(messages: readonly RelayMessage[]): void {
    const due = performance.now() + this.#delayMs
    for (const message of messages) {
      this.#waiting.push({ message, due })
      this.#bytes += message.payload.length
    }
  }

  #release(): void {
    const now = performance.now()
    let count = 0
    for (const { due, message } of this.#waiting) {
      if (due > now && this.#bytes <= MOST_BYTES) break
      this.#bytes -= message.payload.length
      this.source.push(message, now)
      count += 1
    }
    if (count > 0) this.#waiting = this.#waiting.slice(count)
  }
}
