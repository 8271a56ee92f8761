/**
 * Provides the programs that tests need beyond npm packages; `npm test` runs it first.
 *
 * They come from Debian packages. As root it installs them. Otherwise it downloads the packages and their dependencies
 * with a separate apt state and unpacks them below node_modules/.cache, which does not change the machine. When nothing
 * is missing this takes no time. When a program cannot be provided it fails and explains how to get it. Only tests of
 * optional programs are skipped. Servers that tests talk to are installed too, from npm (peers.ts) and from Debian's
 * packages (wordpress-program.ts).
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { download, hasApt, run, unpackAll } from './debian.ts'
import { installPeer, missingPeers } from './peers.ts'
import { CACHE, isOptional, missingTools, TOOLS } from './tools.ts'
import type { Tool } from './tools.ts'
import { LITECOIN } from './litecoin.ts'
import { isUnpacked, unpackServer } from './unpacked.ts'
import { hasWordPress, installWordPress, WORDPRESS_PACKAGES } from './wordpress-program.ts'

function provide(): void {
  const wanted = missingTools()
  if (wanted.length === 0) return
  console.log(`Tests need ${wanted.join(', ')}: getting ${packagesOf(wanted).join(', ')} from Debian's packages …`)
  // Separately, because apt installs nothing when it does not know one of the packages.
  if (hasApt()) for (const tools of Map.groupBy(wanted, groupOf).values()) get(tools)
  const missing = missingTools()
  if (missing.length === 0) return
  const isFatal = missing.some((tool) => !isOptional(tool))
  console.error(
    `${isFatal ? 'Tests cannot run' : 'Some tests are skipped'} without ${missing.join(', ')}.\n` +
      `On Debian and Ubuntu: apt-get install ${packagesOf(missing).join(' ')}\n` +
      'Elsewhere: install them by the means of the system, so that they are on PATH.',
  )
  if (isFatal) process.exitCode = 1
}

const groupOf = (tool: Tool): string => (isOptional(tool) ? tool : 'needed')

function get(tools: readonly Tool[]): void {
  if (process.getuid?.() === 0) install(packagesOf(tools))
  const missing = missingTools().filter((tool) => tools.includes(tool))
  if (missing.length > 0) unpack(packagesOf(missing))
}

function packagesOf(tools: readonly Tool[]): string[] {
  return [...new Set(tools.flatMap((tool) => TOOLS[tool]))]
}

function install(packages: string[]): void {
  if (run('apt-get', ['-q', 'update'])) run('apt-get', ['-qy', 'install', '--no-install-recommends', ...packages])
}

/**
 * Completes the new set before it replaces the old one. Leaves out packages that the machine has installed.
 */
function unpack(packages: string[]): void {
  const fresh = `${CACHE}.${process.pid}`
  const state = join(fresh, 'apt')
  const root = join(fresh, 'root')
  mkdirSync(root, { recursive: true })
  try {
    if (!download({ withDependencies: packages }, state)) return
    copyOlder(root)
    unpackAll(state, root)
    rmSync(state, { recursive: true })
    writeStarters(fresh)
    rmSync(CACHE, { recursive: true, force: true })
    renameSync(fresh, CACHE)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** Copies the old set before the new packages are unpacked over it. */
function copyOlder(root: string): void {
  const older = join(CACHE, 'root')
  if (existsSync(older)) cpSync(older, root, { recursive: true, verbatimSymlinks: true })
}

const STARTED: Record<Tool, string> = {
  'redis-server': 'usr/bin/redis-server',
  'redis-cli': 'usr/bin/redis-cli',
  pgbouncer: 'usr/sbin/pgbouncer',
  ffmpeg: 'usr/bin/ffmpeg',
  ffprobe: 'usr/bin/ffprobe',
  // /usr/bin/chromium is a script full of absolute paths.
  chromium: 'usr/lib/chromium/chromium',
  nginx: 'usr/sbin/nginx',
  haproxy: 'usr/sbin/haproxy',
  aiortc: 'usr/lib/python3/dist-packages/aiortc/__init__.py',
}

/** The machine's Python with the unpacked libraries, or the unpacked Python when the machine has none. */
const startPython = (libraries: string): string => `export PYTHONPATH="$root/${libraries}"
[ -x /usr/bin/python3 ] && exec /usr/bin/python3 "$@"
export PYTHONHOME="$root/usr"
exec "$root/usr/bin/python3"`

/** Writes scripts that start the programs in `root/` by relative paths, so that the folder can be moved. */
function writeStarters(folder: string): void {
  const root = join(folder, 'root')
  const libraries = libraryFolders(root).map((path) => `$root/${path}`)
  mkdirSync(join(folder, 'bin'))
  for (const [tool, program] of Object.entries(STARTED)) {
    if (!existsSync(join(root, program))) continue
    const script = join(folder, 'bin', tool)
    writeFileSync(
      script,
      `#!/bin/sh
root=$(cd "\${0%/*}/../root" && pwd) || exit 1
export LD_LIBRARY_PATH="${libraries.join(':')}"
export FONTCONFIG_FILE="$root/../fonts.conf"
${tool === 'aiortc' ? startPython(dirname(dirname(program))) : `exec "$root/${program}"`} "$@"
`,
    )
    chmodSync(script, 0o755)
  }
  writeFileSync(
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
function libraryFolders(root: string): string[] {
  const entries = ['lib', 'usr/lib']
    .map((top) => join(root, top))
    .filter((top) => existsSync(top) && statSync(top).isDirectory())
    .flatMap((top) => readdirSync(top, { recursive: true, withFileTypes: true }))
  const libraries = entries.filter(({ name }) => /^lib.*\.so(\.\d|$)/.test(name))
  return [...new Set(libraries.map(({ parentPath }) => relative(root, parentPath)))].sort()
}

/** Installs the peers, which come from npm. */
function providePeers(): void {
  for (const peer of missingPeers()) {
    console.log(`Tests need the server in test/peers/${peer}: installing it from npm …`)
    const failure = installPeer(peer)
    if (failure === undefined) continue
    console.error(
      `Tests cannot run without it. npm ci in test/peers/${peer} says:\n${failure}\n` +
        'Check that the npm registry can be reached, and run the tests again.',
    )
    process.exitCode = 1
  }
}

/** Unpacks WordPress, which some systems have no packages of. */
function provideWordPress(): void {
  if (hasWordPress()) return
  console.log("Tests need a WordPress site: getting WordPress, PHP and MariaDB from Debian's packages …")
  if (hasApt() && installWordPress()) return
  console.error(
    `Tests cannot run without it. It needs these packages of Debian or Ubuntu: ${WORDPRESS_PACKAGES.join(' ')}\n` +
      'Check that the mirror in /etc/apt can be reached, and run the tests again.',
  )
  process.exitCode = 1
}

/** Unpacks the node of the Bitcoin family. */
function provideLitecoin(): void {
  if (isUnpacked(LITECOIN)) return
  console.log("Tests need a Litecoin node: getting it from Debian's packages …")
  if (hasApt() && unpackServer(LITECOIN)) return
  console.error(
    `Tests cannot run without it. It needs these packages of Debian or Ubuntu: ${LITECOIN.packages.join(' ')}\n` +
      'Check that the mirror in /etc/apt can be reached, and run the tests again.',
  )
  process.exitCode = 1
}

provide()
providePeers()
provideWordPress()
provideLitecoin()
