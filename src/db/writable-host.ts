import { Client } from 'pg'

/** How long a server may take to accept a connection and to say whether it accepts writes. */
export const HOST_MS = 2_000

/** None of the servers accepts connections and writes. */
export class NoWritableHostError extends Error {
  override readonly name = 'NoWritableHostError'
  /** PostgreSQL's code for a connection that could not be made, so that callers treat the database as away. */
  readonly code = '08001'

  /** @param failures one text per server, with its address */
  constructor(failures: readonly string[]) {
    super(
      `no server of DATABASE_URL accepts writes: ${failures.join('; ')}. ` +
        'Start the primary, promote a standby, or correct the hosts',
    )
  }
}

/**
 * Finds the server that accepts writes among several, before each new connection: `target_session_attrs=read-write` of
 * libpq, which `pg` lacks. The last one that did is asked first, the others in the order of the setting.
 */
export class WritableHost {
  readonly #urls: readonly string[]
  #last: string | undefined
  #search: Promise<string> | undefined

  /** @param urls for `pg`, with the parameters that it understands */
  constructor(urls: readonly string[]) {
    this.#urls = urls
  }

  /** The URL of a server that accepts writes. Connections that open together ask once. @throws NoWritableHostError */
  find(): Promise<string> {
    this.#search ??= this.#ask().finally(() => {
      this.#search = undefined
    })
    return this.#search
  }

  async #ask(): Promise<string> {
    const failures: string[] = []
    for (const url of new Set([...(this.#last === undefined ? [] : [this.#last]), ...this.#urls])) {
      const failure = await refusal(url)
      if (failure === undefined) {
        this.#last = url
        return url
      }
      failures.push(`${new URL(url).host} ${failure}`)
    }
    throw new NoWritableHostError(failures)
  }
}

/** Why a server cannot be used; undefined if it accepts writes. */
async function refusal(url: string): Promise<string | undefined> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: HOST_MS,
    query_timeout: HOST_MS,
    application_name: 'crier',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    // Written by hand: a parameter of the server. A standby reports `on`, whatever the session has set.
    const { rows } = await client.query<{ readonly: string }>(
      `select current_setting('transaction_read_only') as readonly`,
    )
    return rows[0]?.readonly === 'off' ? undefined : 'is read-only'
  } catch (error) {
    return `failed (${(error as Error).message || (error as NodeJS.ErrnoException).code || 'no reason given'})`
  } finally {
    // A server that does not answer must not delay the next one.
    client.end().catch(() => undefined)
  }
}
