import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { fakeTurn } from '../../../../test/support/fake-turn.ts'
import type { Caller, Member } from '../../../core/caller.ts'
import { ManualClock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Upload } from '../../../core/upload.ts'
import type { Storage } from '../../../storage/storage.ts'
import { safeFileName } from '../../../content/file-name.ts'
import { ChatAttachments } from './attachments.ts'

const ada = { userId: 'ada' } as Caller

test.each<[what: string, content: Buffer, type: string]>([
  ['UTF-8 text', Buffer.from('Grüße'), 'text/plain; charset=utf-8'],
  ['text in another encoding', Buffer.from('Grüße', 'latin1'), 'application/octet-stream'],
  ['text with a null byte', Buffer.from('a\0b'), 'application/octet-stream'],
  ['text with a control character', Buffer.from('a\u0001b'), 'text/plain; charset=utf-8'],
  ['a picture', Buffer.from('47494638396101000100800000000000ffffff21f90401000000002c', 'hex'), 'image/gif'],
  ['one byte', Buffer.from('a'), 'text/plain; charset=utf-8'],
])('the type of a file is that of its content: %s', async (_what, content, type) => {
  const stored: unknown[] = []
  const storage = { put: async (...file: unknown[]) => void stored.push(file[0], file[2]) } as unknown as Storage
  const attachments = new ChatAttachments({ run: async () => 1 } as unknown as Sql, new ManualClock(), storage)
  const upload = { stream: Readable.from([content]), name: 'page.html', type: 'text/html' } as unknown as Upload
  const taken = await attachments.take({ userId: 'ada', workspaceId: 'w1' } as Member, upload)
  expect(taken).toMatchObject({ name: 'page.html', fileType: type, size: content.length })
  expect(taken.url).toBe(`/api/team/w1/chat/attachments/${taken._id}`)
  expect(stored).toEqual([`w1/${taken._id}`, { type }])
})

test('the files of a message are in the order of the message, and unknown ones are named', async () => {
  const attachments = new ChatAttachments({} as Sql, new ManualClock(), {} as Storage)
  const rows = ['f1', 'f2'].map((id) => ({ id, workspaceId: 'w1', name: id, type: 'image/png', size: 1 }))
  const { turn } = fakeTurn({ rows: async () => rows as never })
  expect((await attachments.ofMessage(turn, ada, ['f2', 'f1'])).map(({ _id }) => _id)).toEqual(['f2', 'f1'])
  await expect(attachments.ofMessage(turn, ada, ['f1', 'f3', 'f2', 'f4'])).rejects.toMatchObject({
    errors: [{ path: '/body/attachments/1' }, { path: '/body/attachments/3' }],
  })
  await expect(attachments.ofMessage(turn, ada, ['f3'])).rejects.toMatchObject({ code: 'validation_failed' })
})

test('a message without files needs no statement for them, and one with files one', async () => {
  const attachments = new ChatAttachments({} as Sql, new ManualClock(), {} as Storage)
  let statements = 0
  const { turn } = fakeTurn({ rows: async () => [statements++] as never, run: async () => statements++ })
  expect(await attachments.ofMessage(turn, ada, [])).toEqual([])
  await attachments.bind(turn, 'm1', [])
  expect(statements).toBe(0)
  await attachments.bind(turn, 'm1', ['f1'])
  expect(statements).toBe(1)
})

test.each([
  ['', 'file'],
  ['  .hidden. ', 'hidden'],
  ['a.b.txt', 'a.b.txt'],
  ['x'.repeat(120), 'x'.repeat(120)],
  ['x'.repeat(121), 'x'.repeat(120)],
  [`${'x'.repeat(116)}.txt`, `${'x'.repeat(116)}.txt`],
  [`${'x'.repeat(117)}.txt`, `${'x'.repeat(116)}.txt`],
  // A long ending is a part of the name.
  [`${'x'.repeat(118)}.notanending`, `${'x'.repeat(118)}.n`],
])('the file name %j is stored as %j', (given, kept) => {
  expect(safeFileName(given)).toBe(kept)
})
