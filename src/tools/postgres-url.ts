import { serverUrls } from './server-urls.ts'

/** The servers that a URL of PostgreSQL names. */
export interface PostgresUrl {
  /** One URL per server, in the order of the text. */
  readonly urls: readonly string[]
  /** `host:port` of each server, separated by commas, for messages. */
  readonly hosts: string
  /** Name of the database. */
  readonly database: string
}

/** Values of `target_session_attrs` for a server that accepts writes. */
const WRITABLE = ['read-write', 'primary']

/**
 * Reads a URL in the form of libpq, which can name several servers:
 * `postgres://user:password@one:5432,two:5432/crier?target_session_attrs=read-write`.
 * Crier writes, so it uses the server that accepts writes, and takes no other `target_session_attrs`.
 * @throws Error that says what to change, without the user and the password
 */
export function postgresUrl(text: string): PostgresUrl {
  const parsed = serverUrls(text, ['postgres', 'postgresql'])
  const attributes = parsed[0]?.searchParams.get('target_session_attrs') ?? 'read-write'
  if (!WRITABLE.includes(attributes)) {
    throw new Error(`target_session_attrs must be ${WRITABLE.join(' or ')}, not ${attributes}, because Crier writes`)
  }
  return {
    urls: parsed.map(({ href }) => href),
    hosts: parsed.map(({ host }) => host).join(', '),
    database: parsed[0]?.pathname.slice(1) ?? '',
  }
}
