import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { download, unpackAll, type Wanted } from './debian-packages.ts'

/** Programs of Debian's packages that were unpacked instead of installed: `root/` has the files, `bin/` has scripts that start them. */
export interface UnpackedPrograms {
  readonly packages: Wanted
  /** Paths below `root/`, by the name of the script. One that the packages do not have is left out. */
  readonly programs: Readonly<Record<string, string>>
  /** Lines of the script that start a program instead of `exec "$root/…" "$@"`. */
  readonly starters?: Readonly<Record<string, string>>
  /** Unpacks over the files that are in the folder already. */
  readonly keepsOlder?: boolean
}

/**
 * Downloads and unpacks programs. The new set is complete before it replaces the folder. Programs that run meanwhile are
 * not affected.
 * @throws Error that says which command failed
 */
export async function unpackPrograms(folder: string, wanted: UnpackedPrograms): Promise<void> {
  const fresh = `${folder}.${process.pid}`
  const state = join(fresh, 'apt')
  const root = join(fresh, 'root')
  await mkdir(root, { recursive: true })
  try {
    await download(wanted.packages, state)
    const older = join(folder, 'root')
    if (wanted.keepsOlder && existsSync(older)) await cp(older, root, { recursive: true, verbatimSymlinks: true })
    await unpackAll(state, root)
    await rm(state, { recursive: true })
    await writeStarters(fresh, wanted)
    await replaceFolder(fresh, folder)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/** Another process may do the same at the same time. The last one wins. */
async function replaceFolder(fresh: string, folder: string): Promise<void> {
  const older = `${fresh}.old`
  if (existsSync(folder)) await rename(folder, older)
  await rename(fresh, folder)
  await rm(older, { recursive: true, force: true })
}

/** Writes scripts that start the programs in `root/` by relative paths, so that the folder can be moved. */
async function writeStarters(folder: string, { programs, starters = {} }: UnpackedPrograms): Promise<void> {
  const root = join(folder, 'root')
  const libraries = (await libraryFolders(root)).map((path) => `$root/${path}`)
  await mkdir(join(folder, 'bin'))
  for (const [name, program] of Object.entries(programs)) {
    if (!existsSync(join(root, program))) continue
    const script = `#!/bin/sh
root=$(cd "\${0%/*}/../root" && pwd) || exit 1
export LD_LIBRARY_PATH="${libraries.join(':')}"
export FONTCONFIG_FILE="$root/../fonts.conf"
${starters[name] ?? `exec "$root/${program}" "$@"`}
`
    await writeFile(join(folder, 'bin', name), script, { mode: 0o755 })
  }
  await writeFile(
    join(folder, 'fonts.conf'),
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir prefix="relative">root/usr/share/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`,
  )
}

/** Folders with libraries, including those that an installation would link to, such as BLAS. */
async function libraryFolders(root: string): Promise<string[]> {
  const tops = ['lib', 'usr/lib'].map((top) => join(root, top)).filter((top) => existsSync(top))
  const entries = await Promise.all(tops.map((top) => readdir(top, { recursive: true, withFileTypes: true })))
  const libraries = entries.flat().filter(({ name }) => /^lib.*\.so(\.\d|$)/.test(name))
  return [...new Set(libraries.map(({ parentPath }) => relative(root, parentPath)))].toSorted()
}
