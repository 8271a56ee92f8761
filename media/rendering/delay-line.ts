import type { GopLimits } from '../relay/gop-cache.ts'
import type { RelayBatch, RelayMessage } from '../relay/relay-message.ts'
import { Source, type Output } from '../relay/source.ts'

/** More than 30 s at the highest bitrate that a platform accepts. Beyond it the oldest messages are sent early. */
const MAX_BYTES = 64 * 1024 * 1024
const STEP_MS = 20

/** A source that repeats another one with a fixed delay. */
export class DelayLine implements Output {
  readonly source: Source
  readonly #from: Source
  readonly #delayMs: number
  readonly #timer: NodeJS.Timeout
  #queue: { readonly message: RelayMessage; readonly due: number }[] = []
  #bytes = 0

  constructor(from: Source, delayMs: number, limits: GopLimits) {
    this.source = new Source(limits)
    this.#from = from
    this.#delayMs = delayMs
    this.#enqueue(from.replay(MAX_BYTES).messages)
    from.add(this)
    this.#timer = setInterval(() => this.#sendDue(), STEP_MS)
  }

  write(batch: RelayBatch): void {
    this.#enqueue(batch.messages)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#from.remove(this)
    this.#queue = []
  }

  #enqueue(messages: readonly RelayMessage[]): void {
    const due = performance.now() + this.#delayMs
    for (const message of messages) {
      this.#queue.push({ message, due })
      this.#bytes += message.payload.length
    }
  }

  #sendDue(): void {
    const now = performance.now()
    let count = 0
    for (const { due, message } of this.#queue) {
      if (due > now && this.#bytes <= MAX_BYTES) break
      this.#bytes -= message.payload.length
      this.source.push(message, now)
      count += 1
    }
    if (count > 0) this.#queue = this.#queue.slice(count)
  }
}
