import { readFileSync } from 'node:fs'
import { Client } from 'pg'

/**
 * The processor time of the server's process of a connection, in milliseconds. Unlike the time on the clock, it does not
 * depend on other work of the machine.
 */
export function backendMs(client: Client): number {
  const { processID } = client as unknown as { processID: number | null }
  try {
    return Number(readFileSync(`/proc/${processID}/schedstat`, 'latin1').split(' ')[0]) / 1e6
  } catch {
    // The connection is not open yet, or closed.
    return 0
  }
}

export interface Recorded {
  readonly text: string
  readonly values: readonly unknown[]
}

export interface Timed {
  readonly text: string
  /** The server's processor time from the request to the reply, with earlier statements of the connection. */
  readonly ms: number
}

/** Records the statements that this process sends to PostgreSQL. */
export class StatementRecorder {
  #recorded: Recorded[] | undefined
  #timed: Timed[] | undefined

  constructor() {
    const note = (client: Client, text: string, began: number | undefined) => {
      if (began !== undefined) this.#timed?.push({ text, ms: Math.max(0, backendMs(client) - began) })
    }
    const record = (config: unknown): string | undefined => {
      const { text, values } = (config ?? {}) as { text?: unknown; values?: readonly unknown[] }
      if (typeof text !== 'string') return typeof config === 'string' ? config : undefined
      this.#recorded?.push({ text, values: values ?? [] })
      return text
    }
    const isTiming = () => this.#timed !== undefined
    const { query } = Client.prototype as unknown as { query: (this: Client, ...args: unknown[]) => unknown }
    Client.prototype.query = function recorded(this: Client, ...args: unknown[]) {
      const text = record(args[0])
      const began = isTiming() ? backendMs(this) : undefined
      const callback = args.at(-1)
      if (text !== undefined && typeof callback === 'function') {
        args[args.length - 1] = (...reply: unknown[]) => {
          note(this, text, began)
          return callback(...reply) as unknown
        }
      }
      const result = query.apply(this, args)
      if (text !== undefined && result instanceof Promise) {
        void result.then(
          () => note(this, text, began),
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
