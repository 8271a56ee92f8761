/**
 * Provides the programs that tests need beyond npm packages; `npm test` runs it first.
 *
 * They come from Debian packages. As root it installs them. Otherwise it downloads the packages and their dependencies
 * with a separate apt state and unpacks them below node_modules/.cache, which does not change the machine. When nothing
 * is missing this takes no time. When a program cannot be provided it fails and explains how to get it. Only tests of
 * optional programs are skipped. Servers that tests talk to are installed too, from npm (peers.ts) and from Debian's
 * packages (wordpress-program.ts).
 */
import { dirname } from 'node:path'
import { hasApt, run } from '../../src/setup/debian-packages.ts'
import { unpackPrograms } from '../../src/setup/unpacked-programs.ts'
import { installPeer, missingPeers } from './peers.ts'
import { CACHE, isOptional, missingTools, TOOLS } from './tools.ts'
import type { Tool } from './tools.ts'
import { LITECOIN } from './litecoin.ts'
import { isUnpacked, unpackServer } from './unpacked.ts'
import { hasWordPress, installWordPress, WORDPRESS_PACKAGES } from './wordpress-program.ts'

async function provide(): Promise<void> {
  const wanted = missingTools()
  if (wanted.length === 0) return
  console.log(`Tests need ${wanted.join(', ')}: getting ${packagesOf(wanted).join(', ')} from Debian's packages …`)
  // Separately, because apt installs nothing when it does not know one of the packages.
  if (hasApt()) for (const tools of Map.groupBy(wanted, groupOf).values()) await get(tools)
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

async function get(tools: readonly Tool[]): Promise<void> {
  if (process.getuid?.() === 0) await tried(() => install(packagesOf(tools)))
  const missing = missingTools().filter((tool) => tools.includes(tool))
  if (missing.length > 0) await tried(() => unpack(packagesOf(missing)))
}

function packagesOf(tools: readonly Tool[]): string[] {
  return [...new Set(tools.flatMap((tool) => TOOLS[tool]))]
}

async function install(packages: string[]): Promise<void> {
  await run('apt-get', ['-q', 'update'])
  await run('apt-get', ['-qy', 'install', '--no-install-recommends', ...packages])
}

/** Leaves out packages that the machine has installed, and keeps those that were unpacked before. */
async function unpack(packages: string[]): Promise<void> {
  await unpackPrograms(CACHE, {
    packages: { withDependencies: packages },
    programs: STARTED,
    starters: { aiortc: startPython(dirname(dirname(STARTED.aiortc))) },
    keepsOlder: true,
  })
}

/** Prints why something failed. What is missing then is reported at the end. */
async function tried(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    console.error((error as Error).message)
    return false
  }
}

const STARTED = {
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
} satisfies Record<Tool, string>

/** The machine's Python with the unpacked libraries, or the unpacked Python when the machine has none. */
function startPython(libraries: string): string {
  return `export PYTHONPATH="$root/${libraries}"
[ -x /usr/bin/python3 ] && exec /usr/bin/python3 "$@"
export PYTHONHOME="$root/usr"
exec "$root/usr/bin/python3" "$@"`
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
async function provideWordPress(): Promise<void> {
  if (hasWordPress()) return
  console.log("Tests need a WordPress site: getting WordPress, PHP and MariaDB from Debian's packages …")
  if (hasApt() && (await tried(installWordPress))) return
  console.error(
    `Tests cannot run without it. It needs these packages of Debian or Ubuntu: ${WORDPRESS_PACKAGES.join(' ')}\n` +
      'Check that the mirror in /etc/apt can be reached, and run the tests again.',
  )
  process.exitCode = 1
}

/** Unpacks the node of the Bitcoin family. */
async function provideLitecoin(): Promise<void> {
  if (isUnpacked(LITECOIN)) return
  console.log("Tests need a Litecoin node: getting it from Debian's packages …")
  if (hasApt() && (await tried(() => unpackServer(LITECOIN)))) return
  console.error(
    `Tests cannot run without it. It needs these packages of Debian or Ubuntu: ${LITECOIN.packages.join(' ')}\n` +
      'Check that the mirror in /etc/apt can be reached, and run the tests again.',
  )
  process.exitCode = 1
}

await provide()
providePeers()
await provideWordPress()
await provideLitecoin()
