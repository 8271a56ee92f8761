import { RefusedError } from './types.ts'

const WINDOW_MS = 60_000
const LONGEST_MS = 60_000

interface Row {
  failures: number[]
  until: number
}

/** Blocks actors that fail to activate repeatedly within a minute, each time for longer. */
export class Quarantine {
  readonly #rows = new Map<string, Row>()
  readonly #monotonic: () => number
  readonly #after: number

  constructor(monotonic: () => number, after: number) {
    this.#monotonic = monotonic
    this.#after = after
  }

  failed(actor: string): void {
    const now = this.#monotonic()
    const row = this.#rows.get(actor) ?? { failures: [], until: 0 }
    if (row.until > now) return
    row.failures = [...row.failures.filter((at) => now - at < WINDOW_MS), now]
    const over = row.failures.length - this.#after
    if (over >= 0) row.until = now + Math.min(LONGEST_MS, 1_000 * 2 ** over)
    this.#rows.set(actor, row)
  }

  succeeded(actor: string): void {
    this.#rows.delete(actor)
  }

  /** The refusal of a command for a blocked actor. */
  refusal(actor: string): RefusedError | undefined {
    if (this.#rows.size === 0) return undefined
    const left = (this.#rows.get(actor)?.until ?? 0) - this.#monotonic()
    return left > 0 ? new RefusedError('quarantined', Math.ceil(left / 1_000)) : undefined
  }

  names(): string[] {
    const now = this.#monotonic()
    return [...this.#rows].filter(([, row]) => row.until > now).map(([actor]) => actor)
  }

  sweep(): void {
    const now = this.#monotonic()
    for (const [actor, row] of this.#rows) {
      if (row.until < now && row.failures.every((at) => now - at > WINDOW_MS)) this.#rows.delete(actor)
    }
  }
}
