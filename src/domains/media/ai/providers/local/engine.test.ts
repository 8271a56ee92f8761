import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { localModelName, localSpeech, requireLocalSpeech } from './engine.ts'

const engine = fileURLToPath(new URL('testing/fake-engine.mjs', import.meta.url))
let folder: string
let model: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-engine-'))
  model = join(folder, 'ggml-tiny.bin')
  await writeFile(model, 'tiny')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function heard(sound: string, language: string | null = null, signal = new AbortController().signal) {
  const path = join(folder, 'piece.flac')
  await writeFile(path, sound)
  const piece = { path, start: 0, seconds: 2, bytes: sound.length }
  return localSpeech({ engine, model }).recognize(piece, { model: localModelName({ model }), language }, signal)
}

test('recognizes a piece in a separate process', async () => {
  const segments = [{ startSeconds: 0.5, endSeconds: 1.5, text: 'tiny: hello', speaker: null }]
  expect(await heard('hello')).toEqual({ language: 'de', segments })
  expect(await heard('hello', 'en-GB')).toEqual({ language: 'en', segments })
})

test.each([
  ['crash', /its process ended with SIGSEGV/],
  ['broken', /the sound cannot be read/],
])('%s: fails this piece with a reason', async (sound, message) => {
  await expect(heard(sound)).rejects.toMatchObject({
    name: 'ProviderError',
    retryable: true,
    message: expect.stringMatching(message),
  })
})

test('a model of English only is not asked which language it hears, and refuses others', async () => {
  const header = Buffer.alloc(8)
  header.writeUInt32LE(0x67676d6c, 0)
  header.writeInt32LE(51_864, 4)
  await writeFile(model, header)
  try {
    expect(await heard('hello')).toMatchObject({ language: 'en' })
    expect(await heard('hello', 'en-GB')).toMatchObject({ language: 'en' })
    await expect(heard('hallo', 'de')).rejects.toMatchObject({ message: /English only/, retryable: false })
  } finally {
    await writeFile(model, 'tiny')
  }
})

test('is ended with its job', async () => {
  const stop = new AbortController()
  const work = heard('hang', null, stop.signal)
  setTimeout(() => stop.abort(new Error('cancelled')), 10)
  await expect(work).rejects.toThrow('cancelled')
})

test('says at the start what is missing', async () => {
  await expect(requireLocalSpeech({ engine, model })).resolves.toBeUndefined()
  await expect(requireLocalSpeech({ engine, model: join(folder, 'none.bin') })).rejects.toThrow(
    /AI_WHISPER_MODEL: there is no readable file .*none\.bin/,
  )
  await expect(requireLocalSpeech({ engine: '@fugood/not-there', model })).rejects.toThrow(
    /the package @fugood\/not-there is not installed\. Run npm install/,
  )
})
