import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { openMultipart } from './multipart.ts'

const TYPE = 'multipart/form-data; boundary=xx'

interface Part {
  readonly name: string
  readonly value: string
  readonly filename?: string
}

function bodyOf(parts: readonly Part[], end = '--xx--\r\n'): string {
  const written = parts.map(({ filename, name, value }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: image/png`
    return `--xx\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  })
  return written.join('') + end
}

const open = (parts: readonly Part[], maxBytes = 100) => openMultipart(Readable.from([bodyOf(parts)]), TYPE, maxBytes)
const file = (value = 'bytes', filename = 'a.png'): Part => ({ name: 'file', value, filename })
const field = (name: string, value = 'x'): Part => ({ name, value })

test('has its fields, in order, and then the file', async () => {
  const opened = await open([field('title', 'ü'), field('tag', 'a'), field('tag', 'b'), file()])
  expect(opened.fields.toString()).toBe('title=%C3%BC&tag=a&tag=b')
  expect(opened.file).toMatchObject({ name: 'a.png', type: 'image/png' })
  expect(await text(opened.file.stream)).toBe('bytes')
})

test('names the file without folders', async () => {
  for (const name of ['../../etc/ a.png', 'C:\\\\fakepath\\\\a.png', ' a.png ']) {
    const opened = await open([file('x', name)])
    expect(opened.file.name).toBe('a.png')
    opened.file.stream.resume()
  }
})

test('must have exactly one file, as its last part', async () => {
  await expect(open([field('title')])).rejects.toMatchObject({
    code: 'validation_failed',
    errors: [{ path: '/body/file' }],
  })
  await expect(open([{ ...file(), name: 'other' }])).rejects.toMatchObject({ code: 'bad_request' })
  const late = await open([file(), field('title')])
  await expect(text(late.file.stream)).rejects.toMatchObject({
    message: expect.stringContaining('Send all fields before the file'),
  })
  const two = await open([file(), file('more')])
  await expect(text(two.file.stream)).rejects.toMatchObject({ message: expect.stringContaining('Send one file') })
})

test('has fields of bounded length', async () => {
  const long = field('title', 'x'.repeat(20_001))
  await expect(open([long, file()])).rejects.toMatchObject({
    message: 'The field title is too long. Its name can have up to 100 bytes, and its value up to 20,000.',
  })
  const fits = await open([field('title', 'x'.repeat(20_000)), file()])
  fits.file.stream.resume()
})

test('has a file of bounded size', async () => {
  const fits = await open([file('x'.repeat(100))])
  expect(await text(fits.file.stream)).toHaveLength(100)
  const long = await open([file('x'.repeat(101))])
  await expect(text(long.file.stream)).rejects.toMatchObject({ code: 'payload_too_large' })
})

test('that is incomplete or not multipart is a bad request', async () => {
  await expect(openMultipart(Readable.from(['']), 'multipart/form-data', 10)).rejects.toMatchObject({
    code: 'bad_request',
  })
  const body = new PassThrough()
  body.write(bodyOf([file('half')], ''))
  const opened = await openMultipart(body, TYPE, 100)
  body.destroy(new Error('the client left'))
  await expect(text(opened.file.stream)).rejects.toMatchObject({ code: 'bad_request' })
})

test('is read to its end when the file is discarded', async () => {
  const body = new PassThrough()
  const opened = await new Promise<Awaited<ReturnType<typeof open>>>((resolve, reject) => {
    openMultipart(body, TYPE, 1_000_000).then(resolve, reject)
    body.write(bodyOf([file('x'.repeat(300_000))], ''))
  })
  opened.file.stream.destroy()
  body.end('--xx--\r\n')
  await new Promise((resolve) => void body.once('end', resolve))
  expect(body.readableEnded).toBe(true)
})
