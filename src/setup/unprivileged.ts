import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)

const SETPRIV = '/usr/bin/setpriv'
const SHELL = '/bin/sh'

/** A user of this machine, as /etc/passwd has it. */
export interface User {
  name: string
  uid: number
  gid: number
}

/** How to start a program: what to put before it on the command line, or which user to give to `spawn`. */
export interface Launcher {
  prefix: readonly string[]
  user?: { uid: number; gid: number }
}

/**
 * Whom a server runs as that refuses to run as root: who owns its data already, else `postgres` where that user exists,
 * else `nobody`. None is ever made. A number without an entry in /etc/passwd will not do: PostgreSQL looks its user up.
 *
 * @param ownedFolder the server's data, if there is some already
 * @throws {Error} when the machine has none of them
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
 * PostgreSQL looks up whom it runs as, and gives up on a number without a name: containers are started with such.
 *
 * @throws {Error} that says what to change
 */
export function checkOwnUser(lookUp: () => unknown = userInfo): void {
  try {
    lookUp()
  } catch (cause) {
    throw new Error(
      `user id ${process.getuid?.()} has no entry in /etc/passwd, and PostgreSQL needs one: add an entry, start Crier as another user, or set DATABASE_URL to a PostgreSQL of your own`,
      { cause },
    )
  }
}

/**
 * How to run a program as ourselves, ended by the kernel when we die however that happens (where setpriv is at hand).
 *
 * @param deathSignal what it gets then, for example INT
 */
export function ownLauncher(deathSignal: string): Launcher {
  return { prefix: existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', deathSignal] : [] }
}

/**
 * How to run a program as another user, as root. If that user cannot get to the program or the folder, because a folder
 * above is closed to it (root's home is), the program is given the one capability that lets it pass: to read and enter
 * everything, or where a container withholds that, also to write. `no_setuid_fixup` belongs to it: without, access(2)
 * ignores the capability, and PostgreSQL asks access(2) whether its own binary is there.
 *
 * @param program absolute path of an executable that answers `-V`
 * @param folder a folder the user owns
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
      'Put the project and DATA_DIR into folders that every user may enter, such as /srv or /opt, ' +
      'or start as an ordinary user.',
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
