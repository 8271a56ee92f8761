import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import { TEMPLATE } from './template.ts'

export interface TestDatabase {
  readonly url: string
  /** Ends every session on it and drops it. */
  drop(): Promise<void>
}

/** Creates a database with the current schema, as a copy of the migrated template. */
export async function createDatabase(): Promise<TestDatabase> {
  // Half as long as a copy by the write-ahead log.
  return create(` template ${TEMPLATE} strategy file_copy`)
}

/** Creates an empty database, for tests of migrations. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return create('')
}

async function create(options: string): Promise<TestDatabase> {
  const server = await serverUrl()
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(server, `create database ${name}${options}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(server, `drop database if exists ${name} with (force)`) }
}

let pending: Promise<string> | undefined

/** The URL of the run's PostgreSQL server, which starts on the first request. */
export function serverUrl(): Promise<string> {
  pending ??= fetch(inject('postgresDesk')).then(async (response) => {
    const text = await response.text()
    if (!response.ok) throw new Error(`PostgreSQL for tests did not start: ${text}`)
    return text
  })
  return pending
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
