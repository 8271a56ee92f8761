import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StateFile } from './state-file.ts'

let folder: string
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'crier-state-file-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

test('saves that are wanted at the same time share a write, and each is stored when it resolves', async () => {
  const path = join(folder, 'shared', 'state.json')
  const state = { posts: 0 }
  let reads = 0
  const file = new StateFile(path, () => {
    reads += 1
    return state
  })
  const stored = async () => (JSON.parse(await readFile(path, 'utf8')) as typeof state).posts
  await Promise.all(
    Array.from({ length: 1_000 }, async (_, index) => {
      state.posts = index + 1
      await file.save()
      expect(await stored()).toBeGreaterThan(index)
    }),
  )
  expect(reads).toBe(2)
  state.posts = 2_000
  await file.save()
  expect([await stored(), reads]).toEqual([2_000, 3])
  expect(await StateFile.read(path)).toEqual(state)
})

test('a save that fails does not keep back the next one', async () => {
  const path = join(folder, 'broken.json')
  const state: { self?: unknown } = {}
  state.self = state
  const file = new StateFile(path, () => state)
  const first = file.save()
  const second = file.save()
  delete state.self
  await expect(first).rejects.toThrow('circular')
  await second
  expect((await stat(path)).size).toBe(2)
})

test('a file that does not exist is no state', async () => {
  expect(await StateFile.read(join(folder, 'none.json'))).toBeUndefined()
})

test('only this user may read the file, even after a write that was cut off', async () => {
  const path = join(folder, 'private', 'state.json')
  const file = new StateFile(path, () => ({ token: 'secret' }))
  await file.save()
  await writeFile(`${path}.new`, 'torn', { mode: 0o644 })
  await file.save()
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'private'))).mode & 0o777).toBe(0o700)
})
