import { callbackify } from 'node:util'
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg'
import { postgresUrl } from '../tools/postgres-url.ts'
import { connectionString } from './connection-string.ts'
import { HISTORY, type DatabaseHistory } from './history.ts'
import { establish, type SessionSettings } from './session.ts'
import { HOST_MS, WritableHost } from './writable-host.ts'

export interface SessionPoolOptions extends Omit<PoolConfig, 'connectionString' | 'options' | 'Client' | 'onConnect'> {
  /** The setting `DATABASE_URL`, with one server or several. */
  readonly url: string
  /** Settings of each session, beside those of all sessions. */
  readonly settings?: SessionSettings
  /** Is told the history of each session. Only sessions of the newest one are lent. */
  readonly history?: DatabaseHistory
}

const CONNECT_MS = 5_000

/**
 * A pool whose connections reach the server that accepts writes, and have exactly the given settings, whatever pooler is
 * between. All connections of Crier come from such a pool.
 * @throws Error that says what to change in the URL. Queries throw SessionSettingError if a setting does not hold
 */
export function sessionPool({ url, settings = {}, history, ...options }: SessionPoolOptions): Pool {
  const urls = postgresUrl(url).urls.map(connectionString)
  const several = urls.length > 1
  const onConnect = async (client: PoolClient) => {
    if (history === undefined) return establish(client, settings)
    const found = await history.read(client)
    await establish(client, { ...settings, [HISTORY]: found })
    history.join(client, found)
  }
  const config: PoolConfig = {
    ...options,
    ...(urls[0] !== undefined && { connectionString: urls[0] }),
    connectionTimeoutMillis: CONNECT_MS + (several ? urls.length * HOST_MS : 0),
    keepAlive: true,
    ...(several && { Client: clientOf(new WritableHost(urls)) }),
    // The pool waits for the promise, which its types do not say.
    onConnect: (client) => onConnect(client as PoolClient) as unknown as void,
  }
  return history === undefined ? new Pool(config) : new HistoryPool(config, history)
}

type Lend = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (error?: Error | boolean) => void,
) => void

/** A pool that closes sessions of earlier histories instead of lending them. */
class HistoryPool extends Pool {
  readonly #history: DatabaseHistory

  constructor(config: PoolConfig, history: DatabaseHistory) {
    super(config)
    this.#history = history
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Lend): void
  override connect(callback?: Lend): Promise<PoolClient> | void {
    if (callback === undefined) return this.#lend()
    // Called for every statement outside of a transaction.
    super.connect((error, client, release) => {
      if (client === undefined || this.#history.isCurrent(client)) return callback(error, client, release)
      release(true)
      this.connect(callback)
    })
  }

  async #lend(): Promise<PoolClient> {
    for (;;) {
      const client = await super.connect()
      if (this.#history.isCurrent(client)) return client
      client.release(true)
    }
  }
}

/** The class of clients that ask where to connect. `pg` itself connects a client to one address. */
function clientOf(hosts: WritableHost): new () => Client {
  return class HostClient extends Client {
    override connect(): Promise<Client & void>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<Client & void> | void {
      const reach = async () => {
        const { hostname, port } = new URL(await hosts.find())
        Object.assign(this, { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 5432) })
        return super.connect()
      }
      if (callback === undefined) return reach() as Promise<Client & void>
      callbackify(reach)(callback)
    }
  }
}
