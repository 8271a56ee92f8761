import type { MediaLog } from './types.ts'

export interface TallyLimits {
  readonly intervalMs: number
  /** Lines of one kind that are written as they are, in an interval. */
  readonly whole: number
  /** Kinds that are counted separately in an interval. Further ones are counted together. */
  readonly mostKinds: number
}

export const DEFAULT_TALLY_LIMITS: TallyLimits = { intervalMs: 10_000, whole: 5, mostKinds: 50 }

export interface TallyLine {
  readonly level: keyof MediaLog
  readonly message: string
  /** With the message, what makes two lines of one kind. */
  readonly reason: string
  readonly fields: object
  /** How many this line stands for; 1 by default. */
  readonly count?: number
}

interface Kind {
  readonly level: keyof MediaLog
  readonly message: string
  readonly reason: string
  written: number
  /** How many were not written, and the fields of the last of them. */
  left: number
  last: object
}

const OTHERS = 'other reasons'

/** What an error says, as the reason of a line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}

/**
 * Keeps what strangers can cause any number of times from filling the log. The first lines of a kind are written whole;
 * the rest of an interval becomes one line with their count and the fields of the last one.
 */
export class TallyLog {
  readonly #log: MediaLog
  readonly #limits: TallyLimits
  readonly #kinds = new Map<string, Kind>()
  #timer: NodeJS.Timeout | undefined

  constructor(log: MediaLog, limits: TallyLimits = DEFAULT_TALLY_LIMITS) {
    this.#log = log
    this.#limits = limits
  }

  add({ count = 1, fields, level, message, reason }: TallyLine): void {
    this.#timer ??= setTimeout(() => this.flush(), this.#limits.intervalMs).unref()
    const kind = this.#kindOf(level, message, reason)
    if (kind.written < this.#limits.whole) {
      kind.written += 1
      this.#log[level]({ ...fields, reason }, message)
    } else {
      kind.left += count
      kind.last = fields
    }
  }

  /** Writes the counts of the interval and begins another one. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const seconds = this.#limits.intervalMs / 1_000
    for (const { last, left: count, level, message, reason } of this.#kinds.values()) {
      if (count > 0) this.#log[level]({ reason, count, seconds, last }, `${message} (more of the same)`)
    }
    this.#kinds.clear()
  }

  #kindOf(level: keyof MediaLog, message: string, reason: string): Kind {
    const key = `${level} ${message} ${reason}`
    const known = this.#kinds.get(key)
    if (known !== undefined) return known
    if (this.#kinds.size >= this.#limits.mostKinds && reason !== OTHERS) return this.#kindOf(level, message, OTHERS)
    const kind = { level, message, reason, written: 0, left: 0, last: {} }
    this.#kinds.set(key, kind)
    return kind
  }
}
