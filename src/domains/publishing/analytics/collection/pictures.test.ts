import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { ManualClock } from '../../../../core/clock.ts'
import { importedPictures } from '../report/pictures.ts'
import { ContentPictures } from './pictures.ts'

const scratch = mkdtempSync(join(tmpdir(), 'crier-pictures-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const reply = { url: '', status: 200, contentType: 'image/png', size: 3, bytes: Buffer.from('png'), complete: true }
/** What hosts reply, by the end of the address. */
const REPLIES: Readonly<Record<string, object>> = {
  missing: { ...reply, status: 404 },
  page: { ...reply, contentType: 'text/html' },
  svg: { ...reply, contentType: 'image/svg+xml' },
  huge: { ...reply, complete: false },
}

function setUp(known: readonly string[] = []) {
  const files = new Map<string, Buffer>()
  const asked: string[] = []
  const pictures = new ContentPictures({
    sql: { rows: () => Promise.resolve(known.map((remoteId) => ({ remoteId }))) } as never,
    clock: new ManualClock(),
    log: { debug: () => undefined } as never,
    scratch,
    fetcher: {
      get: (url) => {
        asked.push(url)
        if (url.endsWith('away')) return Promise.reject(new Error('It cannot be reached.'))
        return Promise.resolve({ ...reply, ...REPLIES[url.split('/').at(-1) ?? ''] })
      },
    },
    mediaWork: () =>
      Promise.resolve({
        thumbnails: async (_path: string, folder: string) => {
          const path = join(folder, 'small.webp')
          await writeFile(path, 'webp')
          return { thumbnails: [{ name: 'small', path, width: 256, height: 256, bytes: 4 }] }
        },
      } as never),
    storage: {
      put: async (key: string, body: Readable) => void files.set(key, await buffer(body)),
      get: (key: string) => Promise.resolve(files.has(key) ? Readable.from([files.get(key)]) : undefined),
    } as never,
  })
  const store = (names: readonly string[]) =>
    pictures.store(
      { accountId: 'account', workspaceId: 'workspace' },
      names.map((name) => ({
        post: { id: name, url: null },
        publishedAt: '2026-11-23T00:00:00Z',
        text: '',
        insights: {},
        pictureUrl: name === 'none' ? null : `https://cdn.example/${name}`,
      })),
      AbortSignal.timeout(10_000),
    )
  return { asked, files, store }
}

test('pictures of new posts are stored, and what is not a picture is left out', async () => {
  const { asked, files, store } = setUp(['old'])
  const found = await store(['one', 'none', 'old', 'missing', 'page', 'svg', 'huge', 'away', 'two'])
  expect([...found.keys()].toSorted()).toEqual(['one', 'two'])
  expect([...files.keys()].toSorted()).toEqual([...found.values()].map((id) => `workspace/${id}`).toSorted())
  expect(asked).not.toContain('https://cdn.example/old')
})

test('one reading fetches forty pictures at most', async () => {
  const { asked, store } = setUp()
  await store(Array.from({ length: 60 }, (_, index) => `post-${index}`))
  expect(asked).toHaveLength(40)
})

test('a report has the pictures whose files are there', async () => {
  const rows = [
    { id: 'a', pictureId: 'one' },
    { id: 'b', pictureId: 'gone' },
    { id: 'c', pictureId: null },
  ]
  const needs = {
    sql: { rows: () => Promise.resolve(rows) },
    storage: {
      get: (key: string) => Promise.resolve(key === 'workspace/one' ? Readable.from([Buffer.from('webp')]) : undefined),
    },
  }
  const found = await importedPictures(needs as never, 'workspace', ['a', 'b', 'c'])
  expect([...found]).toEqual([['a', Buffer.from('webp').toString('base64')]])
})
