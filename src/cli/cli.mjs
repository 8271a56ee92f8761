#!/usr/bin/env node
/**
 * The `crier` command. Plain JavaScript, because it starts on any Node version. If that is too old for our TypeScript,
 * it runs the Node that npm installed.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const OLDEST = 24

if (Number(process.versions.node.split('.')[0]) >= OLDEST) {
  // Compiling the sources takes half of a command's time. If the folder is not writable, Node does not use the cache.
  module.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/node-compile', import.meta.url)))
  const { main } = await import('./main.ts')
  process.exitCode = await main(process.argv.slice(2))
} else {
  const script = fileURLToPath(import.meta.url)
  const child = spawn(findNode(), [script, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => fail(error.message))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal ? 1 : 0)
  })
}

function findNode() {
  const require = createRequire(import.meta.url)
  const { platform, arch } = process
  for (const name of [`node-${platform === 'win32' ? 'win' : platform}-${arch}`, `node-bin-${platform}-${arch}`]) {
    try {
      const folder = dirname(require.resolve(`${name}/package.json`))
      const file = join(folder, 'bin', platform === 'win32' ? 'node.exe' : 'node')
      if (existsSync(file)) return file
    } catch {
      // There is no such package for this platform.
    }
  }
  return fail(
    `crier needs Node ${OLDEST} or newer, or npm ci with optional packages; this is Node ${process.versions.node}`,
  )
}

/** @returns {never} */
function fail(message) {
  process.stderr.write(`crier: ${message}\n`)
  process.exit(2)
}
