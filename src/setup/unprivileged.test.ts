import { execFile } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findPostgresPrograms } from './postgres-programs.ts'
import { checkOwnUser, commandLine, unprivilegedLauncher, unprivilegedUser } from './unprivileged.ts'

const isRoot = process.getuid?.() === 0

let root: string
beforeEach(() => {
  // Only its owner may enter it, like root's home.
  root = mkdtempSync(join(tmpdir(), 'crier-user-'))
})
afterEach(() => rmSync(root, { recursive: true }))

describe.runIf(isRoot && process.platform === 'linux')('as root', () => {
  const nobody = () => unprivilegedUser(join(root, 'none'))
  const statusOf = async (launcher: Awaited<ReturnType<typeof unprivilegedLauncher>>) => {
    const [command, args] = commandLine(launcher, 'cat', ['/proc/self/status'])
    const { stdout } = await promisify(execFile)(command, args)
    return Object.fromEntries(stdout.split('\n').map((line) => line.split(':\t') as [string, string | undefined]))
  }

  test('a server runs as an ordinary user without capabilities, if that user can reach it', async () => {
    const { postgres } = await findPostgresPrograms()
    const folder = join(root, 'data')
    mkdirSync(folder)
    chmodSync(root, 0o755)
    const user = nobody()
    const launcher = await unprivilegedLauncher(user, 'INT', postgres, folder)
    const status = await statusOf(launcher)
    expect(status['Uid']).toBe(Array.from({ length: 4 }, () => user.uid).join('\t'))
    expect(status['Groups']?.trim()).toBe('')
    expect(Number(`0x${status['CapEff']}`)).toBe(0)
  })

  test('a server gets one capability to read if a parent folder is closed', async () => {
    const { postgres } = await findPostgresPrograms()
    const folder = join(root, 'data')
    mkdirSync(folder)
    const user = nobody()
    chownSync(folder, user.uid, user.gid)
    const launcher = await unprivilegedLauncher(user, 'INT', postgres, folder)
    const status = await statusOf(launcher)
    expect(status['Uid']).toMatch(new RegExp(`^${user.uid}\t`))
    // capabilities(7): CAP_DAC_READ_SEARCH is bit 2.
    expect(Number(`0x${status['CapEff']}`)).toBe(1 << 2)
  })

  test('an unreachable path is named in the error', async () => {
    const folder = join(root, 'none')
    await expect(unprivilegedLauncher(nobody(), 'INT', '/bin/true', folder)).rejects.toThrow(
      new RegExp(`cannot reach /bin/true and ${folder}.*DATA_DIR`),
    )
  })

  test('existing data keeps its owner', () => {
    const [name = '', , uid, gid] = (readFileSync('/etc/passwd', 'utf8').split('\n')[1] ?? '').split(':')
    chownSync(root, Number(uid), Number(gid))
    expect(unprivilegedUser(root)).toEqual({ name, uid: Number(uid), gid: Number(gid) })
  })
})

test('a user id without a name is refused with instructions before a cluster is created', () => {
  expect(() => checkOwnUser()).not.toThrow()
  const nameless = () => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd')
  }
  expect(() => checkOwnUser(nameless)).toThrow(/no entry in \/etc\/passwd.*DATABASE_URL/)
})
