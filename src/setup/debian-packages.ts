import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Packages of Debian and Ubuntu, downloaded with a separate apt state and without root, which does not change the machine. */

export const hasApt = (): boolean => existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/dpkg-deb')

/** What to download. */
export interface Wanted {
  /** Packages to download with the dependencies that the machine does not have. */
  readonly withDependencies: readonly string[]
  /** Packages to download without dependencies, even if the machine already has the packages. */
  readonly alone?: readonly string[]
}

/** A command must end within this time. A mirror that does not respond is given up much earlier. */
const PATIENCE_MS = 600_000

/**
 * Downloads packages to `<state>/archives`.
 * @param state a separate folder
 * @throws Error with the last lines of the command that failed
 */
export async function download({ alone = [], withDependencies }: Wanted, state: string): Promise<void> {
  const archives = join(state, 'archives')
  for (const folder of ['lists/partial', 'archives/partial']) await mkdir(join(state, folder), { recursive: true })
  const options = [
    `Dir::State=${state}`,
    `Dir::State::Lists=${state}/lists`,
    'Dir::State::Status=/var/lib/dpkg/status',
    `Dir::Cache=${state}`,
    `Dir::Log=${state}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
    'Acquire::Languages=none',
    'Acquire::Retries=1',
    'Acquire::http::Timeout=20',
    'Acquire::https::Timeout=20',
  ].flatMap((option) => ['-o', option])
  const choice = ['-qy', 'install', '--download-only', '--no-install-recommends', ...withDependencies]
  await run('apt-get', [...options, '-q', 'update'])
  await run('apt-get', [...options, ...choice])
  if (alone.length > 0) await run('apt-get', [...options, '-q', 'download', ...alone], archives)
}

/** Unpacks the downloaded packages. @throws Error */
export async function unpackAll(state: string, root: string): Promise<void> {
  const archives = join(state, 'archives')
  for (const name of (await readdir(archives)).filter(isUsable))
    await run('dpkg-deb', ['-x', join(archives, name), root])
}

/** Excludes the C library: one that differs from the machine's loader would crash every program at start. */
const isUsable = (name: string): boolean => name.endsWith('.deb') && !/^(libc6|libc-bin)_/.test(name)

const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
const QUIET = { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }

/** Runs a command. @throws Error with its last lines, when it fails */
export function run(command: string, args: readonly string[], cwd?: string): Promise<void> {
  const options = {
    cwd,
    env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:${SYSTEM_PATH}`, ...QUIET },
    maxBuffer: 100_000_000,
    timeout: PATIENCE_MS,
  }
  return new Promise((resolve, reject) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve()
      const said = `${stdout}${stderr}`.trim().split('\n').slice(-8).join('\n')
      reject(new Error(`${command} ${args.at(-1) ?? ''}: ${said || error.message}`, { cause: error }))
    })
  })
}
