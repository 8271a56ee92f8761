import { serverUrls } from './server-urls.ts'

/** The Redis that a setting names. */
export interface RedisUrl {
  /** `sentinel`: the servers are sentinels, which know the primary. `cluster`: the servers are some nodes of a cluster. */
  readonly kind: 'one' | 'sentinel' | 'cluster'
  readonly servers: readonly { readonly host: string; readonly port: number }[]
  readonly username: string | undefined
  readonly password: string | undefined
  /** Of the primary, as sentinels know it. */
  readonly primary: string | undefined
  readonly database: number
  readonly tls: boolean
  /** Path of a file with the authorities that TLS trusts, instead of those of Node. */
  readonly ca: string | undefined
  /** `host:port` of each server, for messages. */
  readonly hosts: string
}

const PROTOCOLS = ['redis', 'rediss', 'redis+sentinel', 'rediss+sentinel', 'redis+cluster', 'rediss+cluster', 'unix']

const decoded = (text: string): string | undefined => (text === '' ? undefined : decodeURIComponent(text))

/**
 * Reads a URL of Redis: `redis://:password@host:6379/0`, `redis+sentinel://:password@one:26379,two:26379/primary/0`,
 * `redis+cluster://:password@one:7000,two:7001`. With `rediss` they use TLS, and `?ca=<file>` names its authorities.
 * @throws Error that says what to change, without the password
 */
export function redisUrl(text: string): RedisUrl {
  const urls = serverUrls(text, PROTOCOLS)
  const [url] = urls as [URL]
  const [scheme = '', form] = url.protocol.slice(0, -1).split('+')
  const kind = form === 'sentinel' || form === 'cluster' ? form : 'one'
  const path = url.pathname.split('/').slice(1).map(decodeURIComponent)
  const primary = kind === 'sentinel' ? path.shift() : undefined
  if (primary === '' || (kind === 'sentinel' && primary === undefined)) {
    throw new Error('must name the primary after the sentinels, such as redis+sentinel://one:26379,two:26379/mymaster')
  }
  if (kind === 'one' && urls.length > 1) {
    throw new Error('names several servers. Begin with redis+sentinel:// or redis+cluster://')
  }
  const ca = url.searchParams.get('ca') ?? undefined
  if (ca !== undefined && scheme !== 'rediss') throw new Error('has a ca, but no TLS. Begin with rediss')
  const fallback = kind === 'sentinel' ? 26_379 : 6_379
  return {
    kind,
    servers: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || fallback),
    })),
    username: decoded(url.username),
    password: decoded(url.password),
    primary,
    database: Number(path[0] || 0),
    tls: scheme === 'rediss',
    ca,
    hosts: scheme === 'unix' ? url.pathname : urls.map(({ host }) => host).join(', '),
  }
}
