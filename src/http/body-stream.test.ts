import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { HttpResponse } from 'uWebSockets.js'
import { afterAll, expect, test } from 'vitest'
import { BodyStream } from './body-stream.ts'
import { ReceiveBuffers } from './receive-buffers.ts'

const MB = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'crier-body-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A body whose chunks the test delivers as uWS does: also after a pause, and in memory that is reused. */
function open(limit = 100 * MB) {
  let take: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined
  const state = { paused: false }
  const response = {
    pause: () => (state.paused = true),
    resume: () => (state.paused = false),
  } as unknown as HttpResponse
  const body = new BodyStream(response, limit, new ReceiveBuffers(folder), (handler) => (take = handler))
  const bring = (content: Buffer, isLast = false) => {
    const memory = new Uint8Array(content).buffer
    take?.(memory, isLast)
    new Uint8Array(memory).fill(0)
  }
  return { body, bring, state }
}

test('no bytes are lost when they arrive while the reader checks for them', async () => {
  const { body, bring } = open()
  const blocks = body.blocks()
  const first = blocks.next()
  bring(Buffer.from('abc'))
  expect((await first).value?.toString()).toBe('abc')
  const second = blocks.next()
  bring(Buffer.from('def'), true)
  expect((await second).value?.toString()).toBe('def')
  expect((await blocks.next()).done).toBe(true)
})

test('bytes that arrive after a pause are kept, in memory and then on disk, and read in order', async () => {
  const { body, bring, state } = open()
  const content = randomBytes(MB)
  expect(state.paused).toBe(true)
  for (let count = 0; count < 24; count += 1) bring(content, count === 23)
  expect(readdirSync(folder)).toHaveLength(1)
  const whole = await buffer(body)
  expect(whole.length).toBe(24 * MB)
  for (let count = 0; count < 24; count += 1)
    expect(whole.subarray(count * MB, (count + 1) * MB).equals(content)).toBe(true)
})

test('bytes before a disconnect are read before the error', async () => {
  const { body, bring } = open()
  bring(Buffer.from('half'))
  body.abort()
  const got: string[] = []
  const read = async () => {
    for await (const block of body.blocks()) got.push(block.toString())
  }
  await expect(read()).rejects.toMatchObject({ code: 'bad_request' })
  expect(got).toEqual(['half'])
})

test('a body over the limit fails', async () => {
  const { body, bring } = open(5)
  bring(Buffer.from('123456'))
  await expect(body.blocks().next()).rejects.toMatchObject({ code: 'payload_too_large' })
})

test('the socket is read while a reader waits, paused when enough is buffered, and read again when the buffer drains', async () => {
  const { body, bring, state } = open()
  const blocks = body.blocks()
  const first = blocks.next()
  await new Promise(setImmediate)
  expect(state.paused).toBe(false)
  bring(Buffer.alloc(256 * 1024 - 1))
  expect(state.paused).toBe(false)
  bring(Buffer.alloc(MB - 256 * 1024 + 1))
  expect(state.paused).toBe(true)
  await first
  for (let read = MB / 2; read < MB; read += (await blocks.next()).value?.length ?? MB);
  const waiting = blocks.next()
  await new Promise(setImmediate)
  expect(state.paused).toBe(false)
  body.release()
  bring(Buffer.alloc(0), true)
  expect((await waiting).done).toBe(true)
})
