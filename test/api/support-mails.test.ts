import { afterAll, beforeAll, expect, test } from 'vitest'
import { getTicket, receiveSupportMail } from '../../src/domains/talk/support/operations.ts'
import type { TicketData } from '../../src/domains/talk/support/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { World } from '../support/world.ts'

/** Mails to the support team as mail programs build them: what of them becomes a ticket. */

const SECRET = 'a-secret-of-the-mail-server-long-enough'
const ADDRESS = 'support@crier.test'
const SERVER = 'mx.crier.test'
let app: App
let world: World
let count = 0

beforeAll(async () => {
  app = await startApp({
    env: { SUPPORT_ADDRESS: ADDRESS, SUPPORT_AUTHSERV_ID: SERVER, SUPPORT_INBOUND_SECRET: SECRET },
  })
  world = new World(app)
  await world.user('ada')
})
afterAll(async () => {
  await app?.stop()
})

type Content = string | Uint8Array

/** A mail of these headers and this body, with line ends as mail has them. */
async function take(headers: readonly string[], body: Content, subject = 'Subject: Help me') {
  const { email } = await world.user('ada')
  const id = `Message-ID: <structure${(count += 1)}@mail.test>`
  const verified = `Authentication-Results: ${SERVER}; dmarc=pass`
  const head = [
    verified,
    `From: Ada <${email}>`,
    `To: ${ADDRESS}`,
    subject,
    id,
    'MIME-Version: 1.0',
    ...headers,
    '',
    '',
  ]
  const content = typeof body === 'string' ? Buffer.from(body.replaceAll('\n', '\r\n')) : body
  const sent = await app.send(receiveSupportMail.route, {
    token: SECRET,
    headers: { 'Content-Type': 'message/rfc822' },
    body: Buffer.concat([Buffer.from(head.join('\r\n')), content]),
  })
  expect(sent.status, sent.text).toBe(200)
  expect(sent.body.data.outcome).toBe('ticket')
  const found = await world.as('ada').call(getTicket, { path: { id: sent.body.data.ticketId } })
  expect(found.status, found.text).toBe(200)
  const ticket = found.body.data as TicketData
  const [message] = ticket.messages
  return {
    subject: ticket.subject,
    text: message?.content,
    files: message?.attachments.map(({ fileType, name }) => `${name} ${fileType}`),
  }
}

const multipart = (kind: string, boundary: string, ...parts: readonly string[]) =>
  [...parts.map((part) => `--${boundary}\n${part}`), `--${boundary}--`, ''].join('\n')
const inside = (kind: string, boundary: string, ...parts: readonly string[]) =>
  `Content-Type: multipart/${kind}; boundary=${boundary}\n\n${multipart(kind, boundary, ...parts)}`
const plain = (text: string) => `Content-Type: text/plain; charset=utf-8\n\n${text}`
const html = (text: string) => `Content-Type: text/html; charset=utf-8\n\n<html><body>${text}</body></html>`
const picture = (name = 'screen.png', how = 'inline') =>
  [
    `Content-Type: image/png; name="${name}"`,
    `Content-Disposition: ${how}; filename="${name}"`,
    `Content-ID: <${name}>`,
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(PIXEL).toString('base64'),
  ].join('\n')

const PICTURE = 'screen.png image/png'
const ORIGINAL = 'mail.html text/html; charset=utf-8'

test.each<[name: string, kind: string, parts: string[], text: string, files: string[]]>([
  ['Gmail, text and HTML', 'alternative', [plain('One'), html('<p>One</p>')], 'One', []],
  ['Gmail, HTML with a picture', 'related', [html('<p>One <b>two</b></p>'), picture()], 'One two', [PICTURE, ORIGINAL]],
  [
    'Outlook, a picture in the HTML',
    'related',
    [inside('alternative', 'c', plain('One'), html('<p>One<img src="cid:screen.png"></p>')), picture()],
    'One',
    [PICTURE],
  ],
  [
    'Outlook, HTML and a file',
    'mixed',
    [html('<p>One</p>'), picture('a.png', 'attachment')],
    'One',
    ['a.png image/png', ORIGINAL],
  ],
  [
    'Outlook, HTML alone as an alternative, and a file',
    'mixed',
    [inside('alternative', 'c', html('<p>One</p>')), picture()],
    'One',
    [PICTURE, ORIGINAL],
  ],
  [
    'Outlook, an empty text beside the HTML',
    'alternative',
    [plain(''), html('<p>One</p><p>Two</p>')],
    'One\n\nTwo',
    [ORIGINAL],
  ],
  ['Apple, a picture between texts', 'mixed', [plain('One'), picture(), plain('Two')], 'One\n\nTwo', [PICTURE]],
  ['Apple, a picture between HTML', 'mixed', [html('One'), picture(), html('Two')], 'One\n\nTwo', [PICTURE, ORIGINAL]],
  [
    'Apple, text, or HTML with a picture',
    'alternative',
    [plain('One'), inside('related', 'c', html('One<img src="cid:screen.png">'), picture())],
    'One',
    [PICTURE],
  ],
  [
    'Apple, text, or HTML with a file between',
    'alternative',
    [plain('One Two'), inside('mixed', 'c', html('One'), picture(), html('Two'))],
    'One Two',
    [PICTURE],
  ],
  ['a list, a footer of text below HTML', 'mixed', [html('One'), plain('-- \nlist')], 'One\n-- \nlist', []],
  [
    'a mail that is forwarded as a file',
    'mixed',
    [
      plain('See below'),
      `Content-Type: message/rfc822\n\nFrom: Bob <bob@example.com>\nSubject: Broken\nContent-Type: text/html\n\n<p>It is broken</p>`,
    ],
    'See below\n\n---------- Forwarded message ---------\nFrom: "Bob" <bob@example.com>\nSubject: Broken\n\nIt is broken',
    [],
  ],
  ['a multipart without a type for its text', 'mixed', ['\nOne', picture()], 'One', [PICTURE]],
])('of %s', async (_name, kind, parts, text, files) => {
  const headers = [`Content-Type: multipart/${kind}; boundary=b`]
  const taken = await take(headers, multipart(kind, 'b', ...parts))
  expect({ text: taken.text, files: taken.files }).toEqual({ text, files })
})

const LATIN_1 = Buffer.from('Schöne Grüße', 'latin1')
const ISO_2022_JP = Buffer.from('\u001B$B$3$s$K$A$O\u001B(B', 'latin1')

test.each<[name: string, headers: string[], body: Content, text: string]>([
  ['HTML alone', ['Content-Type: text/html; charset=utf-8'], '<h1>Höhe</h1><ul><li>a</li></ul>', 'Höhe\n\n * a'],
  ['Latin-1 without a charset', [], LATIN_1, 'Schöne Grüße'],
  ['Latin-1 that is declared as UTF-8', ['Content-Type: text/plain; charset=utf-8'], LATIN_1, 'Schöne Grüße'],
  ['ISO-2022-JP without a charset', [], ISO_2022_JP, 'こんにちは'],
  ['ISO-2022-JP that is declared', ['Content-Type: text/plain; charset=iso-2022-jp'], ISO_2022_JP, 'こんにちは'],
  ['UTF-8 without a charset', [], 'Schöne Grüße', 'Schöne Grüße'],
  ['a Content-Type without a subtype', ['Content-Type: text'], 'Hallo', 'Hallo'],
  ['a Content-Type without a semicolon', ['Content-Type: text/html charset=utf-8'], '<p>Hallo</p>', 'Hallo'],
  ['a Content-Type of nothing', ['Content-Type: ;;;'], '<p>Hallo</p>', 'Hallo'],
  ['a multipart without a boundary', ['Content-Type: multipart/mixed'], 'Hallo', 'Hallo'],
  ['no text', ['Content-Type: text/plain'], '', 'The mail has no text.'],
])('with %s', async (_name, headers, body, text) => {
  expect((await take(headers, body)).text).toBe(text)
})

test('a subject in Latin-1 is read', async () => {
  const { email } = await world.user('ada')
  const text = `Authentication-Results: ${SERVER}; dmarc=pass\r\nFrom: ${email}\r\nTo: ${ADDRESS}\r\nSubject: Schöne Grüße\r\n\r\nx`
  const sent = await app.send(receiveSupportMail.route, {
    token: SECRET,
    headers: { 'Content-Type': 'message/rfc822' },
    body: Buffer.from(text, 'latin1'),
  })
  const found = await world.as('ada').call(getTicket, { path: { id: sent.body.data.ticketId } })
  expect(found.body.data.subject).toBe('Schöne Grüße')
})

test('a mail that starts a ticket keeps what it quotes and forwards', async () => {
  const quoted = 'See below\n\nOn Mon, 23 Nov 2026 at 07:00, Bob wrote:\n> It is broken'
  expect((await take([], quoted)).text).toBe(quoted)
  const forwarded = 'See below\n\n---------- Forwarded message ---------\nFrom: Bob\nSubject: x\n\nIt is broken'
  expect((await take([], forwarded, 'Subject: Fwd: x')).text).toBe(forwarded)
})

test('HTML does not hide text, run anything or take long', async () => {
  const hostile = `<script>alert(1)</script><style>p{}</style><p>One</p>${'<div>'.repeat(5_000)}deep`
  const taken = await take(['Content-Type: text/html'], hostile)
  expect(taken.text).toMatch(/^One/)
  expect(taken.text).not.toMatch(/alert|p\{\}/)
})
