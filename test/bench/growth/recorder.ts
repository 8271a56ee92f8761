import { Client } from 'pg'

export interface Recorded {
  readonly text: string
  readonly values: readonly unknown[]
}

export interface Timed {
  readonly text: string
  /** From the request to the reply, in milliseconds, with the wait for earlier statements of the connection. */
  readonly ms: number
}

/** Records the statements that this process sends to PostgreSQL. */
export class StatementRecorder {
  #recorded: Recorded[] | undefined
  #timed: Timed[] | undefined

  constructor() {
    const note = (text: string, began: number) => void this.#timed?.push({ text, ms: performance.now() - began })
    const record = (config: unknown): string | undefined => {
      const { text, values } = (config ?? {}) as { text?: unknown; values?: readonly unknown[] }
      if (typeof text !== 'string') return typeof config === 'string' ? config : undefined
      this.#recorded?.push({ text, values: values ?? [] })
      return text
    }
    const { query } = Client.prototype as unknown as { query: (this: Client, ...args: unknown[]) => unknown }
    Client.prototype.query = function recorded(this: Client, ...args: unknown[]) {
      const text = record(args[0])
      const began = performance.now()
      const callback = args.at(-1)
      if (text !== undefined && typeof callback === 'function') {
        args[args.length - 1] = (...reply: unknown[]) => {
          note(text, began)
          return callback(...reply) as unknown
        }
      }
      const result = query.apply(this, args)
      if (text !== undefined && result instanceof Promise) {
        void result.then(
          () => note(text, began),
          () => undefined,
        )
      }
      return result
    } as typeof Client.prototype.query
  }

  /** The statements of `work`, each text and values once. It runs twice, to leave out what jobs do meanwhile. */
  async during<T>(work: () => Promise<T>): Promise<{ result: T; statements: Recorded[] }> {
    const { statements: before } = await this.once(work)
    const { result, statements } = await this.once(work)
    const repeated = new Set(before.map(({ text }) => text))
    return { result, statements: statements.filter(({ text }) => repeated.has(text)) }
  }

  /** The duration of each statement of `work`. */
  async timed(work: () => Promise<unknown>): Promise<readonly Timed[]> {
    const found: Timed[] = []
    this.#timed = found
    try {
      await work()
      return found
    } finally {
      this.#timed = undefined
    }
  }

  /** The statements of one run of `work`, each text and values once. */
  async once<T>(work: () => Promise<T>): Promise<{ result: T; statements: Recorded[] }> {
    const found: Recorded[] = []
    this.#recorded = found
    try {
      const result = await work()
      const unique = new Map(found.map((one) => [JSON.stringify(one), one]))
      return { result, statements: [...unique.values()] }
    } finally {
      this.#recorded = undefined
    }
  }
}
