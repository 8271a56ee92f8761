import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { BodyChunks } from './body-chunks.ts'
import { BodyMemory } from './body-memory.ts'
import { ReceiveBuffers } from './receive-buffers.ts'
import { SpillFile } from './spill-file.ts'
import { WorkGate } from './work-gate.ts'

const folder = mkdtempSync(join(tmpdir(), 'crier-buffers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const memory = new BodyMemory()
const bytes = (text: string) => Uint8Array.from(Buffer.from(text)).buffer

test('the blocks of all bodies take 16 MB, and are used again', () => {
  const buffers = new ReceiveBuffers(folder)
  const blocks = Array.from({ length: 32 }, () => buffers.take())
  expect(blocks.every((block) => block?.length === 512 * 1024)).toBe(true)
  expect(new Set(blocks).size).toBe(32)
  expect(buffers.take()).toBeUndefined()
  buffers.give(blocks[7]!)
  expect(buffers.take()).toBe(blocks[7])
  expect(buffers.take()).toBeUndefined()
  expect(dirname(buffers.newFile())).toBe(folder)
  expect(buffers.newFile()).not.toBe(buffers.newFile())
})

test('bytes on disk are read in order, and the file is used again once it was read', async () => {
  const path = join(folder, 'spill')
  const file = new SpillFile(path)
  file.write(Buffer.from('one two '))
  file.write(Buffer.from('three'))
  expect(file.length).toBe(13)
  const block = Buffer.alloc(8)
  const read = async () => block.subarray(0, await file.read(block)).toString()
  expect([await read(), file.length]).toEqual(['one two ', 5])
  file.write(Buffer.from('!'))
  expect([await read(), file.length]).toEqual(['three!', 0])
  expect(await read()).toBe('')
  file.write(Buffer.from('four'))
  expect([file.length, await read(), file.length]).toEqual([4, 'four', 0])
  expect(() => new SpillFile(path)).toThrow('EEXIST')
  file.close()
  await waitFor(() => !existsSync(path), { what: 'the removal of the file' })
})

test('a body of up to its limit is kept, and a larger one is counted and discarded', () => {
  const chunks = new BodyChunks(6, memory)
  for (const text of ['one', '', 'two']) chunks.take(bytes(text))
  expect([chunks.size, chunks.isTooLarge, chunks.whole().toString()]).toEqual([6, false, 'onetwo'])
  chunks.take(bytes('!'))
  expect([chunks.size, chunks.isTooLarge, chunks.whole().length]).toEqual([7, true, 0])
  const single = new BodyChunks(6, memory)
  expect(single.whole().length).toBe(0)
  single.take(bytes('one'))
  expect(single.whole().toString()).toBe('one')
  single.drop()
  single.take(bytes('two'))
  expect([single.size, single.whole().length]).toEqual([6, 0])
})

test('a body of an announced length is assembled in shared memory, once an eighth has arrived', () => {
  const chunks = new BodyChunks(100, memory, 16)
  chunks.take(bytes('a'))
  expect(chunks.whole().buffer).not.toBeInstanceOf(SharedArrayBuffer)
  for (const text of ['bc', 'def', '', 'ghijklmnop']) chunks.take(bytes(text))
  expect(chunks.whole().buffer).toBeInstanceOf(SharedArrayBuffer)
  expect(chunks.whole().toString()).toBe('abcdefghijklmnop')
  const cut = new BodyChunks(100, memory, 16)
  for (const text of ['abc', 'def']) cut.take(bytes(text))
  expect(cut.whole().toString()).toBe('abcdef')
  cut.drop()
  expect(cut.whole().length).toBe(0)
})

const KB = 1024
const MB = 1024 * KB

test('the memory of a body is used again by one of about its size, and is freed after a minute', () => {
  vi.useFakeTimers()
  const pool = new BodyMemory()
  const large = pool.take(5 * MB)
  expect(large.byteLength).toBe(8 * MB)
  pool.give(large)
  expect(pool.kept).toBe(8 * MB)
  expect(pool.take(4 * MB).byteLength).toBe(4 * MB)
  expect(pool.take(7 * MB)).toBe(large)
  expect([pool.kept, pool.take(7 * MB) === large]).toEqual([0, false])
  pool.give(pool.take(100 * KB))
  expect(pool.kept).toBe(0)
  for (let block = 0; block < 10; block += 1) pool.give(new SharedArrayBuffer(8 * MB))
  expect(pool.kept).toBe(64 * MB)
  vi.advanceTimersByTime(60_000)
  expect(pool.kept).toBe(0)
  vi.useRealTimers()
})

test('a discarded body gives its memory back once', () => {
  const pool = new BodyMemory()
  const chunks = new BodyChunks(2 * MB, pool, MB)
  chunks.take(new ArrayBuffer(300 * KB))
  chunks.take(new ArrayBuffer(300 * KB))
  chunks.drop()
  chunks.drop()
  expect(pool.kept).toBe(MB)
})

test('a gate admits as many requests as it may, and one more for each that leaves', () => {
  const gate = new WorkGate(2)
  expect([gate.enter(), gate.isFull, gate.enter(), gate.isFull]).toEqual([true, false, true, true])
  expect([gate.enter(), gate.count]).toEqual([false, 2])
  gate.leave()
  expect([gate.count, gate.isFull, gate.enter(), gate.count]).toEqual([1, false, true, 2])
})
