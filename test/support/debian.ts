import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Packages of Debian and Ubuntu, downloaded with a separate apt state, which does not change the machine. */

export const hasApt = (): boolean => existsSync('/usr/bin/apt-get') && existsSync('/usr/bin/dpkg-deb')

/** What to download. */
export interface Wanted {
  /** Packages to download with the dependencies that the machine does not have. */
  readonly withDependencies: readonly string[]
  /** Packages to download without dependencies, even if the machine already has the packages. */
  readonly alone?: readonly string[]
}

/**
 * Downloads packages to `<state>/archives`.
 * @param state a separate folder
 * @returns whether it succeeded
 */
export function download({ alone = [], withDependencies }: Wanted, state: string): boolean {
  for (const folder of ['lists/partial', 'archives/partial']) mkdirSync(join(state, folder), { recursive: true })
  const options = [
    `Dir::State=${state}`,
    `Dir::State::Lists=${state}/lists`,
    'Dir::State::Status=/var/lib/dpkg/status',
    `Dir::Cache=${state}`,
    `Dir::Log=${state}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
    'Acquire::Languages=none',
  ].flatMap((option) => ['-o', option])
  const choice = ['-qy', 'install', '--download-only', '--no-install-recommends', ...withDependencies]
  return (
    run('apt-get', [...options, '-q', 'update']) &&
    run('apt-get', [...options, ...choice]) &&
    (alone.length === 0 || run('apt-get', [...options, '-q', 'download', ...alone], join(state, 'archives')))
  )
}

/** Unpacks the downloaded packages. */
export function unpackAll(state: string, root: string): void {
  for (const name of readdirSync(join(state, 'archives')).filter(isUsable)) {
    run('dpkg-deb', ['-x', join(state, 'archives', name), root])
  }
}

/** Excludes the C library: one that differs from the machine's loader would crash every program at start. */
const isUsable = (name: string): boolean => name.endsWith('.deb') && !/^(libc6|libc-bin)_/.test(name)

/** Runs a command, and prints its output when it fails. @returns whether it succeeded */
export function run(command: string, args: string[], cwd?: string): boolean {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    maxBuffer: 100_000_000,
    ...(cwd !== undefined && { cwd }),
  })
  if (status === 0) return true
  console.error(`${command} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`.slice(-4000)}`)
  return false
}
