import { spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, lchownSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from './data-directory.ts'
import type { PostgresPrograms } from './postgres-programs.ts'
import { checkOwnUser, commandLine, ownLauncher, unprivilegedLauncher, unprivilegedUser } from './unprivileged.ts'
import type { Launcher, User } from './unprivileged.ts'

/** A prepared database cluster on disk, and how to run its server. */
export interface Cluster {
  folder: string
  launcher: Launcher
}

export interface ClusterOptions {
  /** The folder that contains the cluster, as `postgres`. */
  parent: string
  programs: PostgresPrograms
  password: string
  /** false disables forced writes to disk, for databases that are thrown away. */
  durable: boolean
}

/** The superuser and the database of the embedded cluster. */
export const USER = 'crier'
export const DATABASE = 'crier'

/** PostgreSQL's fast shutdown: ends sessions, rolls transactions back and writes everything. */
export const FAST_SHUTDOWN = 'SIGINT'

/**
 * Servers and tools do not inherit our environment: it may contain secrets, and PG… variables would change their
 * behavior.
 */
export const POSTGRES_ENV = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Creates the cluster if there is none, and chooses the user that serves it. A cluster is created under another name
 * and renamed when it is complete, so that an incomplete one is never used.
 *
 * @throws {Error} when it cannot be created, or the existing one belongs to another major version or another user
 */
export async function prepareCluster({ parent, programs, password, durable }: ClusterOptions): Promise<Cluster> {
  const folder = join(parent, 'postgres')
  const user = process.getuid?.() === 0 ? unprivilegedUser(folder) : undefined
  if (user === undefined) checkOwnUser()
  else letPass(parent)

  if (existsSync(folder)) {
    checkVersion(folder, programs)
    takeOver(folder, user)
    return { folder, launcher: await findLauncher(user, programs, folder) }
  }
  const fresh = join(parent, 'postgres.new')
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { mode: 0o700 })
  if (user !== undefined) chownSync(fresh, user.uid, user.gid)
  const launcher = await findLauncher(user, programs, fresh)
  const passwordFile = join(parent, 'postgres.password')
  try {
    writeFileSync(passwordFile, password, { mode: 0o600 })
    if (user !== undefined) chownSync(passwordFile, user.uid, user.gid)
    await run(launcher, programs.initdb, initdbArguments(fresh, passwordFile, durable))
  } finally {
    rmSync(passwordFile, { force: true })
  }
  const single = [
    '--single',
    '-D',
    fresh,
    '-c',
    'exit_on_error=on',
    '-c',
    `fsync=${durable ? 'on' : 'off'}`,
    'template1',
  ]
  await run(launcher, programs.postgres, single, `CREATE DATABASE ${DATABASE}\n`)
  renameSync(fresh, folder)
  if (durable) syncFolder(parent)
  return { folder, launcher }
}

/** Tests open thousands of connections. Half of the time of each goes to SCRAM with its 4,096 iterations. */
const FOR_TESTS = ['--auth=password', '--set', 'scram_iterations=1', '--no-sync']

/**
 * Text is UTF-8. PostgreSQL sorts and compares it with its own Unicode tables, which are the same on every system, so
 * indexes stay valid when a system library changes. The settings are in postgresql.conf, where the operator can change
 * them.
 */
function initdbArguments(folder: string, passwordFile: string, durable: boolean): string[] {
  const settings = {
    timezone: 'UTC',
    log_timezone: 'UTC',
    shared_buffers: '128MB',
    max_connections: '100',
    max_wal_size: '512MB',
    random_page_cost: '1.1',
  }
  return [
    `--pgdata=${folder}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    ...(durable ? ['--auth=scram-sha-256'] : FOR_TESTS),
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
    ...Object.entries(settings).flatMap(([name, value]) => ['--set', `${name}=${value}`]),
  ]
}

async function findLauncher(user: User | undefined, programs: PostgresPrograms, folder: string): Promise<Launcher> {
  const deathSignal = FAST_SHUTDOWN.slice('SIG'.length)
  if (user === undefined) return ownLauncher(deathSignal)
  try {
    return await unprivilegedLauncher(user, deathSignal, programs.postgres, folder)
  } catch (error) {
    const reason = (error as Error).message
    throw new Error(`PostgreSQL refuses to run as root, and ${reason}`, { cause: error })
  }
}

function checkVersion(folder: string, { version }: PostgresPrograms): void {
  const made = readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim()
  const [major] = version.split('.')
  if (made === major) return
  throw new Error(
    `${folder} was created by PostgreSQL ${made}, but this version of Crier includes PostgreSQL ${version}. ` +
      `Run your own PostgreSQL ${made} on it and set DATABASE_URL, or dump the data with that version and restore it here.`,
  )
}

/** Lets other users enter a folder without being able to list it. */
function letPass(folder: string): void {
  const mode = statSync(folder).mode & 0o777
  if ((mode & 0o001) === 0) chmodSync(folder, mode | 0o011)
}

/** The files can belong to another user after a restore from a backup. */
function takeOver(folder: string, user: User | undefined): void {
  const owner = statSync(folder).uid
  if (user === undefined) {
    if (process.getuid === undefined || owner === process.getuid()) return
    throw new Error(
      `${folder} is owned by user id ${owner}, but Crier runs as user id ${process.getuid()}. ` +
        'Start Crier as that user, or change the owner of the data folder (chown -R).',
    )
  }
  if (owner === user.uid) return
  lchownSync(folder, user.uid, user.gid)
  for (const entry of readdirSync(folder, { recursive: true })) {
    lchownSync(join(folder, String(entry)), user.uid, user.gid)
  }
}

/** @throws {Error} with the end of the output, when the exit code is not 0 */
function run(launcher: Launcher, program: string, args: string[], input = ''): Promise<void> {
  const [command, commandArgs] = commandLine(launcher, program, args)
  const child = spawn(command, commandArgs, { ...launcher.user, cwd: '/', env: POSTGRES_ENV, stdio: 'pipe' })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  // It may exit without reading its input. Its exit code shows the result.
  child.stdin.on('error', () => undefined).end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`${program} failed (${signal ?? code}): ${output.trim().slice(-2000)}`))
    })
  })
}
