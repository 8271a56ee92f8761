import { rm, mkdtemp, statfs } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { createLog } from '../../src/core/log.ts'
import { Database } from '../../src/db/database.ts'
import { entities } from '../../src/registry/entities.ts'
import { prepareStore } from '../../src/jobs/stores.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { TEMPLATE } from './template.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The URL at which tests request the PostgreSQL of the run; see postgres.ts. */
    postgresDesk: string
  }
}

/**
 * One PostgreSQL per test run, started when the first test requests it, so that runs without a database do not wait.
 * Tests run in other processes, so they request it over HTTP on loopback.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let running: Promise<{ url: string; stop: () => Promise<void> }> | undefined
  const desk = createServer((_request, response) => {
    running ??= startPostgres()
    running.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end((error as Error).stack),
    )
  })
  await new Promise<void>((resolve) => desk.listen(0, '127.0.0.1', resolve))
  project.provide('postgresDesk', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`)
  return async () => {
    desk.close()
    desk.closeAllConnections()
    await running?.then(({ stop }) => stop())
  }
}

async function startPostgres(): Promise<{ url: string; stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(await databaseFolder(), 'crier-test-postgres-'))
  const directory = await openDataDirectory(folder)
  const log = createLog({ level: 'warn' })
  const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log, durable: false })
  const stop = async () => {
    await postgres.stop()
    directory.close()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await makeTemplate(postgres.url)
  } catch (error) {
    await stop()
    throw error
  }
  return { url: postgres.url, stop }
}

const MEMORY = '/dev/shm'
const MIN_MEMORY = 4 * 2 ** 30

/** A file system in memory, if it has enough space: each test database has about 2,000 files, which a disk creates and deletes slowly. */
async function databaseFolder(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(MEMORY)
    if (bavail * bsize >= MIN_MEMORY) return MEMORY
  } catch {
    // Not Linux, or not mounted.
  }
  return tmpdir()
}

async function makeTemplate(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${TEMPLATE}`)
  await client.end()
  const template = new URL(url)
  template.pathname = `/${TEMPLATE}`
  const database = await Database.connect({
    url: template.href,
    poolSize: 2,
    entities,
    log: createLog({ level: 'silent' }),
  })
  await database.migrate()
  await database.close()
  await prepareStore(template.href)
}
