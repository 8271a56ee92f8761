import { afterAll, beforeAll, expect, test } from 'vitest'
import { safeFileName } from '../../src/content/file-name.ts'
import * as chat from '../../src/domains/talk/chat/operations.ts'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { TestChannel } from '../support/chat.ts'
import { PIXEL } from '../support/pixel.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
const clock = new ManualClock(Date.now())

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  for (const name of ['bob', 'cyd']) await world.member('acme', name)
})
afterAll(() => app?.stop())

const at = () => ({ workspaceId: world.id('acme') })

function upload(by: string, name: string, content: Uint8Array<ArrayBuffer>, type = 'text/html') {
  return world.as(by).call(chat.uploadChatAttachment, { path: at(), file: { name, content, type } })
}

function download(by: string, attachmentId: string) {
  return world.as(by).call(chat.downloadChatAttachment, { path: { ...at(), attachmentId } })
}

test('detects the type by content, serves files inert, and only to readers of the message', async () => {
  const channel = await TestChannel.make(world, 'acme', 'ada', { private: true, memberIds: [world.id('bob')] })
  const page = new TextEncoder().encode('<script>alert(1)</script>')
  const uploaded = [await upload('ada', '../../a\u202Epage.html', page), await upload('ada', 'pixel.html', PIXEL)]
  expect(uploaded.map(({ status, body }) => [status, body.data?.name, body.data?.fileType])).toEqual([
    [201, 'apage.html', 'text/plain; charset=utf-8'],
    [201, 'pixel.html', 'image/png'],
  ])
  const ids = uploaded.map(({ body }) => body.data._id as string)
  const [first = '', second = ''] = ids
  expect((await download('ada', first)).status).toBe(200)
  expect((await download('bob', first)).status).toBe(404)
  expect((await channel.trySend('bob', 'not mine', { attachments: ids })).status).toBe(400)
  const message = await channel.send('ada', '', { attachments: ids })
  expect(message.attachments.map(({ _id }: { _id: string }) => _id)).toEqual(ids)
  expect((await channel.trySend('ada', 'twice', { attachments: ids })).status).toBe(400)
  const shown = await download('bob', first)
  expect([shown.status, shown.text]).toEqual([200, '<script>alert(1)</script>'])
  expect(shown.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(shown.headers.get('x-content-type-options')).toBe('nosniff')
  expect(shown.headers.get('content-disposition')).toMatch(/^attachment;.*apage\.html/)
  expect((await download('bob', second)).headers.get('content-disposition')).toMatch(/^inline/)
  expect((await download('cyd', first)).status).toBe(404)
  await world.as('ada').call(chat.deleteMessage, { path: { ...channel.path, messageId: message._id } })
  expect((await download('bob', first)).status).toBe(404)
})

test('accepts 5 MB, and rejects one byte more and empty files', async () => {
  const most = new Uint8Array(5 * 1024 * 1024).fill(65)
  expect((await upload('bob', 'big.txt', most)).status).toBe(201)
  const more = await upload('bob', 'bigger.txt', new Uint8Array(most.length + 1).fill(65))
  expect([more.status, more.body.code]).toEqual([413, 'payload_too_large'])
  expect((await upload('bob', 'empty.txt', new Uint8Array(0))).body.code).toBe('empty_attachment')
})

test('deletes attachments that were not sent within a day, and keeps sent ones', async () => {
  const sent = await upload('ada', 'kept.txt', new TextEncoder().encode('a kept note'))
  const channel = await TestChannel.make(world, 'acme', 'ada', {})
  await channel.send('ada', 'for the record', { attachments: [sent.body.data._id] })
  const { body } = await upload('bob', 'note.txt', new TextEncoder().encode('a note'))
  const { assets, chat, storage } = app.composition.services
  const key = `${world.id('acme')}/${body.data._id as string}`
  expect(await chat.attachments.forgetLoose()).toBe(0)
  clock.advance(DAY + 1)
  expect(await chat.attachments.forgetLoose()).toBeGreaterThan(0)
  expect((await download('bob', body.data._id)).status).toBe(404)
  clock.advance(2 * DAY)
  await assets.housekeeping.sweep()
  expect(await storage.stat(key)).toBeUndefined()
  expect(await storage.stat(`${world.id('acme')}/${sent.body.data._id as string}`)).toBeDefined()
})

test('sanitizes file names', () => {
  for (const [given, kept] of [
    ['C:\\folder\\report.pdf', 'report.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['...', 'file'],
    ['a\r\nSet-Cookie: x.png', 'aSet-Cookie x.png'],
    [`${'x'.repeat(300)}.jpeg`, `${'x'.repeat(115)}.jpeg`],
  ] as const) {
    expect(safeFileName(given)).toBe(kept)
  }
})
