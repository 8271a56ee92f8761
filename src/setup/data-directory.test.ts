import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { openDataDirectory } from './data-directory.ts'
import { processIdentity } from './process-identity.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'crier-data-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const opener = new URL('./data-directory.ts', import.meta.url).href
/** Starts another Crier process, which opens the folder, prints the result and runs until its standard input ends. */
const SCRIPT = `
  const { openDataDirectory } = await import(${JSON.stringify(opener)})
  await openDataDirectory(process.argv[1]).then(() => console.log('open'), (error) => { console.log(error.message); process.exit() })
  process.stdin.resume()`
const otherCrier = (folder: string) =>
  spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
const firstWords = async (child: ReturnType<typeof otherCrier>) => String((await once(child.stdout, 'data'))[0]).trim()

describe('the data folder', () => {
  test('is created for its owner only, and its path is resolved', async () => {
    mkdirSync(join(root, 'real'))
    symlinkSync('real', join(root, 'link'))
    const directory = await openDataDirectory(join(root, 'link/deep/data'))
    expect(directory.path).toBe(join(root, 'real/deep/data'))
    expect(statSync(directory.path).mode & 0o777).toBe(0o700)
  })

  test('an error names a folder that cannot be created, and the setting', async () => {
    writeFileSync(join(root, 'file'), '')
    await expect(openDataDirectory(join(root, 'file/data'))).rejects.toThrow(/file\/data cannot be used.*DATA_DIR/)
  })
})

describe('the lock', () => {
  test('refuses a second Crier process and names the first', async () => {
    const first = otherCrier(root)
    expect(await firstWords(first)).toBe('open')
    await expect(openDataDirectory(root)).rejects.toThrow(`in use by another Crier process (${first.pid}).`)
    first.stdin.end()
    await once(first, 'exit')
  })

  test('is released when Crier is killed', async () => {
    const first = otherCrier(root)
    expect(await firstWords(first)).toBe('open')
    first.kill('SIGKILL')
    await once(first, 'exit')
    const directory = await openDataDirectory(root)
    directory.close()
  })

  test('is not held by a later process with the same pid', async () => {
    const identity = `${processIdentity(process.ppid)}0`
    writeFileSync(join(root, 'crier.lock'), JSON.stringify({ pid: process.ppid, identity }))
    const directory = await openDataDirectory(root)
    directory.close()
  })

  test('is ignored if a full disk left it incomplete', async () => {
    writeFileSync(join(root, 'crier.lock'), '{"pid":')
    const directory = await openDataDirectory(root)
    expect(JSON.parse(readFileSync(join(root, 'crier.lock'), 'utf8'))).toMatchObject({ pid: process.pid })
    directory.close()
  })

  test('is taken by exactly one of several processes that find a stale lock', async () => {
    writeFileSync(join(root, 'crier.lock'), JSON.stringify({ pid: 1, identity: 'earlier process' }))
    const all = Array.from({ length: 8 }, () => otherCrier(root))
    const words = await Promise.all(all.map(firstWords))
    expect(words.filter((word) => word === 'open')).toHaveLength(1)
    expect(words.filter((word) => word.includes('in use by another Crier'))).toHaveLength(7)
    for (const child of all) child.stdin.end()
    await Promise.all(all.filter((child) => child.exitCode === null).map((child) => once(child, 'exit')))
  })

  test('is free after close', async () => {
    const first = await openDataDirectory(root)
    first.close()
    const second = await openDataDirectory(root)
    second.close()
  })
})

describe('a secret', () => {
  test('is random and private, and never changes', async () => {
    const first = await openDataDirectory(root)
    const session = first.secret('session')
    expect(Buffer.from(session, 'base64url')).toHaveLength(32)
    expect(first.secret('other', 16)).not.toBe(session)
    expect(statSync(join(root, 'secrets/session')).mode & 0o777).toBe(0o600)
    first.close()
    const second = await openDataDirectory(root)
    expect(second.secret('session')).toBe(session)
    second.close()
  })

  test('must have a name inside its folder', async () => {
    const directory = await openDataDirectory(root)
    expect(() => directory.secret('../session')).toThrow(/invalid name of a secret/)
    directory.close()
  })
})

test('the scratch folder is empty at every start', async () => {
  const first = await openDataDirectory(root)
  writeFileSync(join(first.scratch('work'), 'half'), 'x')
  first.close()
  const second = await openDataDirectory(root)
  expect(readdirSync(second.scratch('work'))).toEqual([])
  second.close()
})

test('scratch folders of several data folders may share a parent folder', async () => {
  const elsewhere = join(root, 'fast', 'disk')
  const [one, two] = [await openDataDirectory(join(root, 'one')), await openDataDirectory(join(root, 'two'))]
  const paths = [one, two].map((directory) => directory.scratch('work', elsewhere))
  expect(new Set(paths).size).toBe(2)
  for (const path of paths) expect(path.startsWith(join(elsewhere, 'crier-work-'))).toBe(true)
  writeFileSync(join(paths[0] ?? '', 'half'), 'x')
  expect(readdirSync(one.scratch('work', elsewhere))).toEqual([])
  one.close()
  two.close()
})

test.runIf(process.platform === 'linux')('a zombie process has no identity', async () => {
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const zombie = Number((await once(parent.stdout, 'data'))[0])
  // The shell would reap its child. The program that replaces it does not.
  await waitFor(() => readFileSync(`/proc/${parent.pid}/cmdline`, 'utf8').startsWith('sleep'))
  process.kill(zombie, 'SIGKILL')
  await waitFor(() => readFileSync(`/proc/${zombie}/stat`, 'utf8').includes(') Z'))
  expect(processIdentity(zombie)).toBeUndefined()
  parent.kill()
  await once(parent, 'exit')
})
