import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)

const SETPRIV = '/usr/bin/setpriv'
const SHELL = '/bin/sh'

/** A user of this machine, from /etc/passwd. */
export interface User {
  name: string
  uid: number
  gid: number
}

/** How to start a program: what to put before it on the command line, or which user to pass to `spawn`. */
export interface Launcher {
  prefix: readonly string[]
  user?: { uid: number; gid: number }
}

/**
 * The user for a server that refuses to run as root: the owner of existing data, otherwise `postgres` or `nobody`.
 * Users are never created. A uid without an entry in /etc/passwd does not work, because PostgreSQL looks its user up.
 *
 * @param ownedFolder the server's data, if it exists
 * @throws {Error} when the machine has none of these users
 */
export function unprivilegedUser(ownedFolder: string): User {
  const users = readUsers()
  const owner = statSync(ownedFolder, { throwIfNoEntry: false })?.uid
  const user =
    users.find(({ uid }) => uid === owner && uid !== 0) ??
    users.find(({ name }) => name === 'postgres') ??
    users.find(({ name }) => name === 'nobody')
  if (user === undefined) throw new Error('neither a user postgres nor a user nobody is in /etc/passwd')
  return user
}

function readUsers(): User[] {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length === 7)
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
}

/**
 * PostgreSQL looks up its own user and fails for a uid without a name, which containers may have.
 *
 * @throws {Error} that says what to change
 */
export function checkOwnUser(lookUp: () => unknown = userInfo): void {
  try {
    lookUp()
  } catch (cause) {
    throw new Error(
      `user id ${process.getuid?.()} has no entry in /etc/passwd, and PostgreSQL needs one. Add an entry, start Crier as another user, or set DATABASE_URL to your own PostgreSQL.`,
      { cause },
    )
  }
}

/**
 * How to run a program as the current user so that the kernel ends it when this process ends for any reason (if setpriv is
 * installed).
 *
 * @param deathSignal the signal to send it, for example INT
 */
export function ownLauncher(deathSignal: string): Launcher {
  return { prefix: existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', deathSignal] : [] }
}

/**
 * How to run a program as another user, as root. If that user cannot reach the program or the folder because a parent
 * folder is closed to it (like root's home), the program gets the one capability that it needs: to read and enter
 * everything or, if a container withholds that, also to write. `no_setuid_fixup` is needed as well, because access(2)
 * otherwise ignores the capability and PostgreSQL uses access(2) to find its own binary.
 *
 * @param program absolute path of an executable that supports `-V`
 * @param folder a folder that the user owns
 * @throws {Error} that says which folder to move, when there is no way
 */
export async function unprivilegedLauncher(
  user: User,
  deathSignal: string,
  program: string,
  folder: string,
): Promise<Launcher> {
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--pdeathsig', deathSignal]
  const passing = (capability: string): string[] => [
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
    '--securebits=+no_setuid_fixup',
  ]
  const candidates: Launcher[] = existsSync(SETPRIV)
    ? [[], passing('dac_read_search'), passing('dac_override')].map((extra) => ({
        prefix: [SETPRIV, ...identity, ...extra],
      }))
    : [{ prefix: [], user: { uid: user.uid, gid: user.gid } }]
  let reason = ''
  for (const launcher of candidates) {
    const problem = await tryOut(launcher, program, folder)
    if (problem === undefined) return launcher
    reason ||= problem
  }
  throw new Error(
    `the user ${user.name} cannot reach ${program} and ${folder} (${reason}). ` +
      'Put the project and DATA_DIR into folders that every user can enter, such as /srv or /opt, ' +
      'or start Crier as an ordinary user.',
  )
}

async function tryOut(launcher: Launcher, program: string, folder: string): Promise<string | undefined> {
  const [command, args] = commandLine(launcher, SHELL, ['-c', 'cd "$1" && exec "$2" -V', 'sh', folder, program])
  try {
    await run(command, args, { ...launcher.user, cwd: '/', env: { PATH: '/usr/bin:/bin' } })
    return undefined
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    return (stderr?.trim() || message).split('\n')[0]
  }
}

/** The command and arguments for `spawn`. */
export function commandLine(launcher: Launcher, program: string, args: readonly string[]): [string, string[]] {
  const [command = program, ...rest] = [...launcher.prefix, program, ...args]
  return [command, rest]
}
