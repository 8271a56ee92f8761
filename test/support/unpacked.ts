import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { download, unpackAll } from '../../src/setup/debian-packages.ts'

/**
 * A test server from Debian's packages. It is unpacked below node_modules/.cache and never installed, so it changes
 * nothing else on the machine.
 */
export interface Unpacked {
  readonly name: string
  /** With their dependencies. */
  readonly packages: readonly string[]
}

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/crier-peers', import.meta.url))

function folderOf({ name, packages }: Unpacked): string {
  const hash = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 12)
  return join(CACHE, `${name}-${hash}`)
}

export function isUnpacked(server: Unpacked): boolean {
  return existsSync(folderOf(server))
}

/** The folder of the packages' files, and the environment with their libraries. @throws Error when it is missing */
export function unpackedRoot(server: Unpacked): {
  readonly root: string
  readonly env: Readonly<Record<string, string>>
} {
  if (!isUnpacked(server)) throw new Error(`${server.name} is not unpacked: run node test/support/provide.ts`)
  const root = join(folderOf(server), 'root')
  const libraries = ['usr/lib', 'lib']
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('-linux-gnu'))
        .map((name) => join(folder, name)),
    )
  return { root, env: { LD_LIBRARY_PATH: libraries.join(':') } }
}

/** Downloads and unpacks a server. @throws Error */
export async function unpackServer(server: Unpacked): Promise<void> {
  const folder = folderOf(server)
  const fresh = `${folder}.${process.pid}`
  const state = join(fresh, 'apt')
  mkdirSync(join(fresh, 'root'), { recursive: true })
  try {
    await download({ withDependencies: server.packages }, state)
    await unpackAll(state, join(fresh, 'root'))
    rmSync(state, { recursive: true })
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
    for (const name of readdirSync(CACHE)) {
      const isOlder = name.startsWith(`${server.name}-`) && /-[0-9a-f]{12}$/.test(name) && join(CACHE, name) !== folder
      if (isOlder) rmSync(join(CACHE, name), { recursive: true, force: true })
    }
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}
