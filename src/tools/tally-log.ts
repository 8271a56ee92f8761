/** Where lines are written. Loggers of pino and of the media process have these methods. */
export interface LineLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface TallyLimits {
  readonly intervalMs: number
  /** Lines of one kind that are written in full per interval. */
  readonly linesPerKind: number
  /** Kinds that are counted separately per interval. Further kinds are counted together. */
  readonly maxKinds: number
}

export const DEFAULT_TALLY_LIMITS: TallyLimits = { intervalMs: 10_000, linesPerKind: 5, maxKinds: 50 }

export interface TallyLine {
  readonly level: keyof LineLog
  readonly message: string
  /** Lines with the same level, message and reason are of one kind. */
  readonly reason: string
  readonly fields: object
  /** How many occurrences this line stands for. Default: 1. */
  readonly count?: number
}

interface Kind {
  readonly level: keyof LineLog
  readonly message: string
  readonly reason: string
  written: number
  /** How many were not written, and the fields of the last one of them. */
  omitted: number
  last: object
}

const OTHERS = 'other reasons'

/** The message of an error, as the reason of a line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}

/**
 * Limits log lines that anonymous clients can cause. In each interval the first lines of a kind are written in full. The
 * rest become one line with their count and the fields of the last one.
 */
export class TallyLog {
  readonly #log: LineLog
  readonly #limits: TallyLimits
  readonly #kinds = new Map<string, Kind>()
  #timer: NodeJS.Timeout | undefined

  constructor(log: LineLog, limits: TallyLimits = DEFAULT_TALLY_LIMITS) {
    this.#log = log
    this.#limits = limits
  }

  add({ count = 1, fields, level, message, reason }: TallyLine): void {
    this.#timer ??= setTimeout(() => this.flush(), this.#limits.intervalMs).unref()
    const kind = this.#kindOf(level, message, reason)
    if (kind.written < this.#limits.linesPerKind) {
      kind.written += 1
      this.#log[level]({ ...fields, reason }, message)
    } else {
      kind.omitted += count
      kind.last = fields
    }
  }

  /** Writes the counts of this interval and starts the next one. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const seconds = this.#limits.intervalMs / 1_000
    for (const { last, omitted: count, level, message, reason } of this.#kinds.values()) {
      if (count > 0) this.#log[level]({ reason, count, seconds, last }, `${message} (more of the same)`)
    }
    this.#kinds.clear()
  }

  #kindOf(level: keyof LineLog, message: string, reason: string): Kind {
    const key = `${level} ${message} ${reason}`
    const known = this.#kinds.get(key)
    if (known !== undefined) return known
    if (this.#kinds.size >= this.#limits.maxKinds && reason !== OTHERS) return this.#kindOf(level, message, OTHERS)
    const kind = { level, message, reason, written: 0, omitted: 0, last: {} }
    this.#kinds.set(key, kind)
    return kind
  }
}
