import { Client } from 'pg'

export interface Recorded {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Records the statements that this process sends to PostgreSQL while a request runs. */
export class StatementRecorder {
  #recorded: Recorded[] | undefined

  constructor() {
    const record = (config: unknown) => {
      const { text, values } = (config ?? {}) as { text?: unknown; values?: readonly unknown[] }
      if (typeof text === 'string') this.#recorded?.push({ text, values: values ?? [] })
    }
    const { query } = Client.prototype as unknown as { query: (this: Client, ...args: unknown[]) => unknown }
    Client.prototype.query = function recorded(this: Client, ...args: unknown[]) {
      record(args[0])
      return query.apply(this, args)
    } as typeof Client.prototype.query
  }

  /** The statements of `work`, each text and values once. It runs twice, to leave out what jobs do meanwhile. */
  async during<T>(work: () => Promise<T>): Promise<{ result: T; statements: Recorded[] }> {
    const { statements: before } = await this.#once(work)
    const { result, statements } = await this.#once(work)
    const repeated = new Set(before.map(({ text }) => text))
    return { result, statements: statements.filter(({ text }) => repeated.has(text)) }
  }

  async #once<T>(work: () => Promise<T>): Promise<{ result: T; statements: Recorded[] }> {
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
