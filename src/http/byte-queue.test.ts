import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { ByteQueue } from './byte-queue.ts'
import { ReceiveBuffers } from './receive-buffers.ts'

const MB = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'crier-queue-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const files = () => readdirSync(folder).length

async function taken(queue: ByteQueue): Promise<Buffer> {
  const parts: Buffer[] = []
  for (let part = await queue.read(); part; part = await queue.read()) parts.push(Buffer.from(part))
  return Buffer.concat(parts)
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

test('bytes are read in order, from memory and from disk', async () => {
  const queue = new ByteQueue(new ReceiveBuffers(folder))
  const content = randomBytes(40 * MB)
  for (let at = 0; at < content.length; at += 300_001) queue.write(content.subarray(at, at + 300_001))
  expect([queue.length, files()]).toEqual([content.length, 1])
  expect(digest(await taken(queue))).toBe(digest(content))
  expect(queue.length).toBe(0)
  queue.close()
  await waitFor(() => files() === 0)
})

test('bytes can be written while others are read, also when some are on disk', async () => {
  const queue = new ByteQueue(new ReceiveBuffers(folder))
  const content = randomBytes(60 * MB)
  const hash = createHash('sha256')
  let written = 0
  let read = 0
  while (read < content.length) {
    // Bytes arrive half again as fast as they are read, so the queue spills, drains and spills again.
    const burst = written < 30 * MB ? 3 * MB : written < content.length ? 100_000 : 0
    queue.write(content.subarray(written, written + burst))
    written = Math.min(content.length, written + burst)
    const part = await queue.read()
    if (part) hash.update(part)
    read += part?.length ?? 0
  }
  expect(hash.digest('hex')).toBe(digest(content))
  queue.close()
  await waitFor(() => files() === 0)
})

test('a block that was handed out is not reused before it is released', async () => {
  const buffers = new ReceiveBuffers(folder)
  const first = new ByteQueue(buffers)
  first.write(Buffer.from('one'))
  const part = await first.read()
  first.close()
  const second = new ByteQueue(buffers)
  second.write(Buffer.from('two'))
  expect(part?.toString()).toBe('one')
  first.release()
  second.close()
})

test('queues share one memory limit and return their blocks', async () => {
  const buffers = new ReceiveBuffers(folder)
  const queues = Array.from({ length: 4 }, () => new ByteQueue(buffers))
  for (const queue of queues) queue.write(randomBytes(8 * MB))
  expect(files()).toBe(2)
  for (const queue of queues) queue.close()
  const alone = new ByteQueue(buffers)
  alone.write(randomBytes(16 * MB))
  await waitFor(() => files() === 0)
  alone.close()
})

test('bytes on disk are read even while other queues hold all memory', async () => {
  const buffers = new ReceiveBuffers(folder)
  const [greedy, other] = [new ByteQueue(buffers), new ByteQueue(buffers)]
  greedy.write(randomBytes(16 * MB))
  const content = randomBytes(3 * MB)
  other.write(content)
  expect([greedy.length, other.length, files()]).toEqual([16 * MB, 3 * MB, 1])
  expect(digest(await taken(other))).toBe(digest(content))
  greedy.close()
  // Reads use the memory again when there is some, in blocks of half a megabyte.
  greedy.write(randomBytes(16 * MB))
  other.write(content)
  greedy.close()
  expect((await other.read())?.length).toBe(MB / 2)
  other.close()
  await waitFor(() => files() === 0)
})
