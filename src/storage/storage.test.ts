import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import S3rver from 's3rver'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock, HOUR } from '../core/clock.ts'
import { uuidv7 } from '../tools/id.ts'
import { DiskStorage } from './disk.ts'
import { S3Storage } from './s3.ts'
import type { Storage } from './storage.ts'

const clock = new ManualClock(Date.now())
const OWNER = uuidv7(clock.now())
const newKey = () => `${OWNER}/${uuidv7(clock.now())}`
const TYPE = { type: 'text/plain' }
let directory: string
let server: S3rver
let endpoint: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'crier-storage-'))
  server = new S3rver({
    address: '127.0.0.1',
    port: await freePort(),
    silent: true,
    directory: join(directory, 's3'),
    configureBuckets: [{ name: 'crier', configs: [] }],
  })
  const { port } = await server.run()
  endpoint = `http://127.0.0.1:${port}`
})
afterAll(async () => {
  await server?.close()
  await rm(directory, { recursive: true, force: true })
})

const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
const settings = (where: string) =>
  ({ bucket: 'crier', region: 'us-east-1', endpoint: where, credentials, pathStyle: true }) as const
const s3 = (where = endpoint, bucket = 'crier') => new S3Storage({ ...settings(where), bucket })

const drivers: [string, () => Storage][] = [
  ['disk', () => new DiskStorage({ directory: join(directory, 'disk'), clock })],
  ['s3', () => s3()],
]

describe.each(drivers)('%s', (_name, open) => {
  test('returns a stored file, whole and in part', async () => {
    const storage = open()
    const key = newKey()
    const content = randomBytes(9_000_000)
    const stored = await storage.put(key, Readable.from(slices(content)), { type: 'video/mp4', size: content.length })
    expect(stored.size).toBe(content.length)
    expect(stored.modifiedAt).toMatch(/^\d{4}-.*Z$/)
    expect(digest(await buffer((await storage.get(key)) as Readable))).toBe(digest(content))
    const part = await buffer((await storage.get(key, { start: 5_000_000, end: 5_000_099 })) as Readable)
    expect(part.equals(content.subarray(5_000_000, 5_000_100))).toBe(true)
    expect(await storage.stat(key)).toEqual(stored)
  })

  test('reads a file block by block, whole and in part', async () => {
    const storage = open()
    const key = newKey()
    const content = randomBytes(1_000_000)
    await storage.put(key, Readable.from(slices(content)), TYPE)
    for (const range of [undefined, { start: 300_000, end: 700_000 }, { start: 999_999, end: 999_999 }]) {
      const blocks = await storage.blocks(key, range)
      const read: Buffer[] = []
      // Copy the block, because the next one may use the same memory.
      for await (const block of blocks ?? []) read.push(Buffer.from(block))
      expect(Buffer.concat(read).equals(content.subarray(range?.start ?? 0, (range?.end ?? content.length) + 1))).toBe(
        true,
      )
    }
    expect(await storage.blocks(newKey())).toBeUndefined()
  })

  test('returns undefined for a missing file, and can delete it', async () => {
    const storage = open()
    const key = newKey()
    expect(await storage.get(key)).toBeUndefined()
    expect(await storage.stat(key)).toBeUndefined()
    await storage.delete(key)
    await storage.put(key, Readable.from(['x']), TYPE)
    await storage.delete(key)
    expect(await storage.stat(key)).toBeUndefined()
  })

  test('stores an empty file', async () => {
    const storage = open()
    const key = newKey()
    await storage.put(key, Readable.from([]), TYPE)
    expect(await text((await storage.get(key)) as Readable)).toBe('')
  })

  test('stores nothing if the stream fails, and throws its error', async () => {
    const storage = open()
    const key = newKey()
    await expect(storage.put(key, broken(), TYPE)).rejects.toThrow('the sender disconnected')
    expect(await storage.stat(key)).toBeUndefined()
    expect(await keysOf(storage)).not.toContain(key)
  })

  test('refuses a file of another size than announced', async () => {
    const storage = open()
    const key = newKey()
    await expect(storage.put(key, Readable.from(['abc']), { ...TYPE, size: 4 })).rejects.toThrow('received 3 bytes')
    expect(await storage.stat(key)).toBeUndefined()
  })

  test('lists every file', async () => {
    const storage = open()
    const keys = [newKey(), `${newKey()}.thumb-320`]
    for (const key of keys) await storage.put(key, Readable.from(['x']), TYPE)
    expect(await keysOf(storage)).toEqual(expect.arrayContaining(keys))
  })

  test('refuses keys that are not made of ids', async () => {
    const storage = open()
    for (const key of ['../../etc/passwd', `${OWNER}/../x`, 'a/b', `${OWNER}/${OWNER}.TXT`, `/${newKey()}`]) {
      await expect(storage.put(key, Readable.from(['x']), TYPE)).rejects.toThrow('not a storage key')
    }
  })

  test('keeps a copy when the original is deleted', async () => {
    const storage = open()
    const [from, to] = [newKey(), newKey()]
    await storage.put(from, Readable.from(['copied']), TYPE)
    await storage.copy(from, to)
    await storage.delete(from)
    expect(await text((await storage.get(to)) as Readable)).toBe('copied')
  })

  test('appends pieces at the end of the received bytes, also after an aborted request', async () => {
    const storage = open()
    const { pieces } = storage
    const id = uuidv7(clock.now())
    expect(await pieces.append(id, 0, Readable.from(['abc']))).toBe(3)
    await expect(pieces.append(id, 3, broken())).rejects.toThrow('the sender disconnected')
    const length = await pieces.length(id)
    expect(length).toBe(3 + 'half'.length)
    await expect(pieces.append(id, 3, Readable.from(['again']))).rejects.toMatchObject({
      code: 'conflict',
      details: { received: length },
    })
    await pieces.append(id, length, Readable.from(['!']))
    const key = newKey()
    expect((await pieces.finish(id, key)).size).toBe(8)
    // Pieces stay until they are discarded, so that an interrupted request can be repeated.
    expect(await pieces.length(id)).toBe(8)
    await pieces.discard(id)
    expect(await pieces.length(id)).toBe(0)
    expect(await text((await storage.get(key)) as Readable)).toBe('abchalf!')
  })

  test('lets one request at a time append to an upload', async () => {
    const { pieces } = open()
    const id = uuidv7(clock.now())
    const slow = new Readable({ read: () => {} })
    const first = pieces.append(id, 0, slow)
    await expect(pieces.append(id, 0, Readable.from(['x']))).rejects.toMatchObject({ code: 'conflict' })
    slow.push('slow')
    slow.push(null)
    expect(await first).toBe(4)
  })

  test('restarts a cancelled upload', async () => {
    const { pieces } = open()
    const id = uuidv7(clock.now())
    await pieces.append(id, 0, Readable.from(['abc']))
    await pieces.append(id, 3, Readable.from(['def']))
    await pieces.discard(id)
    expect(await pieces.length(id)).toBe(0)
    await expect(pieces.finish(id, newKey())).rejects.toMatchObject({ code: 'conflict' })
    expect(await pieces.append(id, 0, Readable.from(['x']))).toBe(1)
    expect(await pieces.append(id, undefined, Readable.from(['xyz']))).toBe(3)
  })
})

describe('disk', () => {
  test('sweeps files left by broken connections, and keeps those being written', async () => {
    const own = join(directory, 'swept')
    const storage = new DiskStorage({ directory: own, clock })
    await storage.put(newKey(), Readable.from(['x']), TYPE)
    await writeFile(join(own, 'incoming', 'left-behind'), 'half')
    const id = uuidv7(clock.now())
    await storage.pieces.append(id, 0, Readable.from([Buffer.from('of a workspace that is gone')]))
    expect(await storage.sweep(HOUR)).toBe(0)
    expect(await storage.pieces.length(id)).toBeGreaterThan(0)
    clock.advance(2 * HOUR)
    expect(await storage.sweep(HOUR)).toBe(2)
    expect([await readdir(join(own, 'incoming')), await readdir(join(own, 'pieces'))]).toEqual([[], []])
    expect(await keysOf(storage)).toHaveLength(1)
    // Files that Crier did not write are not listed, so that no sweep deletes them or fails on them.
    await writeFile(join(own, 'files', '.DS_Store'), '')
    await writeFile(join(own, 'files', OWNER, 'notes.txt'), '')
    expect(await keysOf(storage)).toHaveLength(1)
  })
})

describe('s3', () => {
  test('a signed URL accepts the file that it was signed for', async () => {
    const storage = s3()
    const key = newKey()
    const body = 'signed content'
    const signed = await storage.signedPut(key, {
      size: body.length,
      type: 'text/plain',
      sha256: createHash('sha256').update(body).digest('hex'),
      expiresInSeconds: 60,
    })
    const signedHeaders = new URL(signed.url).searchParams.get('X-Amz-SignedHeaders')?.split(';')
    expect(signedHeaders).toEqual(['content-length', 'content-type', 'host', 'x-amz-checksum-sha256'])
    const { 'Content-Length': _, ...headers } = signed.headers
    const reply = await fetch(signed.url, { method: 'PUT', body, headers })
    expect(reply.status).toBe(200)
    expect(await storage.stat(key)).toMatchObject({ size: body.length })
  })

  test('the signature covers size, type and checksum', async () => {
    // The service of these tests does not check it, so the signature is computed here as AWS does.
    const sha256 = createHash('sha256').update('signed content').digest()
    const { headers, url } = await s3().signedPut(newKey(), {
      size: 14,
      type: 'text/plain',
      sha256: sha256.toString('hex'),
      expiresInSeconds: 60,
    })
    const given = new URL(url).searchParams.get('X-Amz-Signature')
    expect(signatureOf(url, headers)).toBe(given)
    for (const changed of [
      { 'Content-Length': '15' },
      { 'Content-Type': 'text/html' },
      { 'x-amz-checksum-sha256': Buffer.alloc(32).toString('base64') },
    ]) {
      expect(signatureOf(url, { ...headers, ...changed })).not.toBe(given)
    }
  })

  test('a signed URL downloads the file under its name', async () => {
    const storage = s3()
    const key = newKey()
    await storage.put(key, Readable.from(['content']), TYPE)
    const url = await storage.signedGet(key, {
      type: 'text/plain',
      disposition: 'attachment; filename="a.txt"',
      expiresInSeconds: 60,
    })
    const reply = await fetch(url)
    expect([reply.status, await reply.text()]).toEqual([200, 'content'])
    expect(reply.headers.get('content-disposition')).toBe('attachment; filename="a.txt"')
  })

  test('does not list objects that Crier did not write', async () => {
    const before = await keysOf(s3())
    const client = new S3Client({ region: 'us-east-1', endpoint, credentials, forcePathStyle: true })
    await client.send(new PutObjectCommand({ Bucket: 'crier', Key: 'backups/of somebody else.txt', Body: 'x' }))
    client.destroy()
    expect(await keysOf(s3())).toEqual(before)
  })

  test('fails with 503 if the service accepts a request and does not answer', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const storage = new S3Storage({ ...settings(`http://127.0.0.1:${port}`), socketTimeoutMs: 100 })
    const unavailable = { code: 'storage_unavailable', retryAfter: 10 }
    await expect(storage.stat(newKey())).rejects.toMatchObject(unavailable)
    await expect(storage.get(newKey())).rejects.toMatchObject(unavailable)
    storage.close()
    silent.close()
  })

  test('fails with 503 if the service cannot be reached', async () => {
    const unavailable = s3(`http://127.0.0.1:${await freePort()}`)
    await expect(unavailable.put(newKey(), Readable.from(['x']), TYPE)).rejects.toMatchObject({
      code: 'storage_unavailable',
    })
    await expect(unavailable.get(newKey())).rejects.toMatchObject({ code: 'storage_unavailable' })
    await expect(s3(endpoint, 'no-such-bucket').ping()).rejects.toMatchObject({ code: 'storage_unavailable' })
  })
})

/** The AWS Signature Version 4 (query parameters) of a request with these headers. */
function signatureOf(text: string, sent: Readonly<Record<string, string>>): string {
  const url = new URL(text)
  const headers = new Map([
    ['host', url.host],
    ...Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value] as const),
  ])
  const names = (url.searchParams.get('X-Amz-SignedHeaders') ?? '').split(';')
  const query = url.search
    .slice(1)
    .split('&')
    .filter((part) => !part.startsWith('X-Amz-Signature='))
  const canonical = [
    'PUT',
    url.pathname,
    query.sort((a, b) => (a < b ? -1 : 1)).join('&'),
    ...names.map((name) => `${name}:${headers.get(name) ?? ''}`),
    '',
    names.join(';'),
    'UNSIGNED-PAYLOAD',
  ].join('\n')
  const [, ...scope] = (url.searchParams.get('X-Amz-Credential') ?? '').split('/')
  const signed = [
    'AWS4-HMAC-SHA256',
    url.searchParams.get('X-Amz-Date'),
    scope.join('/'),
    digest(Buffer.from(canonical)),
  ]
  const hmac = (key: Buffer | string, message: string) => createHmac('sha256', key).update(message).digest()
  const key = scope.reduce<Buffer | string>((secret, part) => hmac(secret, part), 'AWS4S3RVER')
  return hmac(key, signed.join('\n')).toString('hex')
}

function* slices(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536)
}

function broken(): Readable {
  return Readable.from(
    (async function* () {
      yield Buffer.from('half')
      await new Promise((resolve) => setImmediate(resolve))
      throw new Error('the sender disconnected')
    })(),
  )
}

function digest(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

async function keysOf(storage: Storage): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of storage.list()) keys.push(key)
  return keys
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
