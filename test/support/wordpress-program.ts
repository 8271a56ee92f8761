import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { download, unpackAll } from '../../src/setup/debian-packages.ts'

/**
 * WordPress with PHP and MariaDB from Debian's packages. They are unpacked below node_modules/.cache and never
 * installed, because tests should not leave a database server and a web application on a machine.
 */

/** Programs, with their libraries. */
const PROGRAMS = ['mariadb-server-core', 'mariadb-client-core', 'php-cli', 'php-mysql', 'php-gd', 'php-xml'] as const
/** Files only. As dependencies of WordPress they would bring a web server with them. */
const FILES = ['wordpress', 'php-getid3', 'libjs-cropper', 'libjs-underscore'] as const
export const WORDPRESS_PACKAGES: readonly string[] = [...PROGRAMS, ...FILES]

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/crier-peers', import.meta.url))
/** Counts the changes of this file that need a new folder. */
const VERSION = 1
const FOLDER = join(CACHE, `wordpress-${hashOf(JSON.stringify([VERSION, WORDPRESS_PACKAGES]))}`)
/** PHP modules, in an order in which each finds the ones that it needs. Some are part of PHP itself in other versions. */
const MODULES =
  'mysqlnd mysqli dom xml xmlreader xmlwriter simplexml gd exif fileinfo tokenizer ctype iconv phar posix'.split(' ')

/** Keeps compiled scripts, without which every request compiles all of WordPress. */
const COMPILER = 'opcache.so'

/** How to start the programs. */
export interface WordPressProgram {
  readonly php: string
  /** Come first. They load the modules. */
  readonly phpArgs: readonly string[]
  readonly mariadbd: string
  readonly installDatabase: string
  /** `usr` of the unpacked packages. */
  readonly usr: string
  /** The files of WordPress. */
  readonly site: string
  readonly env: Readonly<Record<string, string>>
}

export function hasWordPress(): boolean {
  return existsSync(FOLDER)
}

/** @throws Error when it was not unpacked; `npm test` does that */
export function wordpressProgram(): WordPressProgram {
  if (!hasWordPress()) throw new Error('WordPress is not unpacked: run node test/support/provide.ts')
  const root = join(FOLDER, 'root')
  const usr = join(root, 'usr')
  const modules = join(usr, 'lib/php', readdirSync(join(usr, 'lib/php')).find((name) => /^20\d{6}$/.test(name)) ?? '')
  const libraries = ['usr/lib', 'lib']
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('-linux-gnu'))
        .map((name) => join(folder, name)),
    )
  return {
    php: join(usr, 'bin', readdirSync(join(usr, 'bin')).find((name) => /^php\d[.\d]*$/.test(name)) ?? 'php'),
    phpArgs: [
      '-n',
      '-d',
      `extension_dir=${modules}`,
      ...MODULES.filter((name) => existsSync(join(modules, `${name}.so`))).flatMap((name) => [
        '-d',
        `extension=${name}.so`,
      ]),
      ...(existsSync(join(modules, COMPILER))
        ? ['-d', `zend_extension=${COMPILER}`, '-d', 'opcache.enable_cli=1']
        : []),
    ],
    mariadbd: join(usr, 'sbin/mariadbd'),
    installDatabase: join(usr, 'bin/mariadb-install-db'),
    usr,
    site: join(FOLDER, 'site'),
    env: { LD_LIBRARY_PATH: libraries.join(':') },
  }
}

/** Downloads and unpacks everything. @throws Error */
export async function installWordPress(): Promise<void> {
  const fresh = `${FOLDER}.${process.pid}`
  const state = join(fresh, 'apt')
  const root = join(fresh, 'root')
  mkdirSync(root, { recursive: true })
  try {
    await download({ withDependencies: PROGRAMS, alone: FILES }, state)
    await unpackAll(state, root)
    rmSync(state, { recursive: true })
    copySite(root, join(root, 'usr/share/wordpress'), join(fresh, 'site'))
    // Debian's own reads /etc. Each site of the tests has another one.
    writeFileSync(join(fresh, 'site/wp-config.php'), "<?php require getenv('CRIER_WORDPRESS_CONFIG');\n")
    rmSync(FOLDER, { recursive: true, force: true })
    renameSync(fresh, FOLDER)
    for (const name of readdirSync(CACHE)) {
      const isOlder = /^wordpress-[0-9a-f]{12}$/.test(name) && join(CACHE, name) !== FOLDER
      if (isOlder) rmSync(join(CACHE, name), { recursive: true, force: true })
    }
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/**
 * Copies the files of WordPress with the targets of its links, some of which lead to other packages, such as
 * `../../../php/getid3`. PHP would look for a file beside the target instead of beside the link.
 */
function copySite(root: string, from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    const source = join(from, name)
    const target = join(to, name)
    if (lstatSync(source).isDirectory()) copySite(root, source, target)
    else {
      const file = targetOf(root, source)
      if (file !== undefined) copyFileSync(file, target)
    }
  }
}

/** The file that a path leads to, in the unpacked packages or on this machine. Undefined when there is none. */
function targetOf(root: string, path: string): string | undefined {
  if (!lstatSync(path).isSymbolicLink()) return path
  const link = readlinkSync(path)
  const choices = link.startsWith('/') ? [join(root, link), link] : [join(dirname(path), link)]
  const found = choices.find((one) => existsSync(one))
  return found === undefined ? undefined : realpathSync(found)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
