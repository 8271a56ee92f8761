import { callbackify } from 'node:util'
import { Client, Pool, type PoolConfig } from 'pg'
import { postgresUrl } from '../core/postgres-url.ts'
import { connectionString } from './connection-string.ts'
import { establish, type SessionSettings } from './session.ts'
import { HOST_MS, WritableHost } from './writable-host.ts'

export interface SessionPoolOptions extends Omit<PoolConfig, 'connectionString' | 'options' | 'Client' | 'onConnect'> {
  /** The setting `DATABASE_URL`, with one server or several. */
  readonly url: string
  /** Settings of each session, beside those of all sessions. */
  readonly settings?: SessionSettings
}

const CONNECT_MS = 5_000

/**
 * A pool whose connections reach the server that accepts writes, and have exactly the given settings, whatever pooler is
 * between. All connections of Crier come from such a pool.
 * @throws Error that says what to change in the URL. Queries throw SessionSettingError if a setting does not hold
 */
export function sessionPool({ url, settings = {}, ...options }: SessionPoolOptions): Pool {
  const urls = postgresUrl(url).urls.map(connectionString)
  const several = urls.length > 1
  return new Pool({
    ...options,
    connectionString: urls[0],
    connectionTimeoutMillis: CONNECT_MS + (several ? urls.length * HOST_MS : 0),
    keepAlive: true,
    ...(several && { Client: clientOf(new WritableHost(urls)) }),
    // The pool waits for the promise, which its types do not say.
    onConnect: (client) => establish(client, settings) as unknown as void,
  })
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
