import type { ClientBase } from 'pg'

/** Names of parameters of PostgreSQL with their values, written as `show` returns them. */
export type SessionSettings = Readonly<Record<string, string>>

/** What every session of Crier depends on: how texts and times are read and written. */
const ALWAYS: SessionSettings = {
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  statement_timeout: '15s',
}

/** A setting that Crier depends on does not hold after it was set. */
export class SessionSettingError extends Error {
  override readonly name = 'SessionSettingError'

  constructor(name: string, expected: string, found: string | undefined) {
    super(
      `the session has ${name} = "${found ?? 'nothing'}" after Crier set it to "${expected}". A pooler changes sessions. ` +
        'Let each client keep its session (PgBouncer: pool_mode = session), or name PostgreSQL itself in DATABASE_URL',
    )
  }
}

/**
 * Sets the settings of a new session by statements, because a pooler can drop what a connection asks for at its start, and
 * can hand out a session that another client has changed. Then reads them back.
 * @throws SessionSettingError
 */
export async function establish(client: ClientBase, settings: SessionSettings): Promise<void> {
  const all = Object.entries({ ...ALWAYS, ...settings })
  const names = all.map(([name]) => name)
  // Written by hand: Kysely has no settings.
  await client.query('reset all')
  await client.query('select set_config(name, value, false) from unnest($1::text[], $2::text[]) as s(name, value)', [
    names,
    all.map(([, value]) => value),
  ])
  const { rows } = await client.query<{ name: string; value: string }>(
    'select name, current_setting(name) as value from unnest($1::text[]) as s(name)',
    [names],
  )
  const found = new Map(rows.map(({ name, value }) => [name, value]))
  for (const [name, expected] of all) {
    if (found.get(name) !== expected) throw new SessionSettingError(name, expected, found.get(name))
  }
}
