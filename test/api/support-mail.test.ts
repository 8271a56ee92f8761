import { createHash, createHmac } from 'node:crypto'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE } from '../../src/core/clock.ts'
import {
  createTicket,
  getTicket,
  listTickets,
  receiveSupportMail,
  replyToTicket,
  updateTicket,
} from '../../src/domains/talk/support/operations.ts'
import type { TicketData } from '../../src/domains/talk/support/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const SECRET = 'a-secret-of-the-mail-server-long-enough'
const ADDRESS = 'support@crier.test'
const SERVER = 'mx.crier.test'
const PASS = `Authentication-Results: ${SERVER}; dmarc=pass`
const FAIL = `Authentication-Results: ${SERVER}; dmarc=fail`
const clock = new ManualClock(Date.now())
let app: App
let world: World

beforeAll(async () => {
  const env = { SUPPORT_ADDRESS: ADDRESS, SUPPORT_AUTHSERV_ID: SERVER, SUPPORT_INBOUND_SECRET: SECRET }
  app = await startApp({ clock, env })
  world = new World(app)
  await world.user('ada')
  await world.user('bob')
  await world.user('staff', { admin: true })
})
afterAll(() => app?.stop())

async function ticket(user: string, subject: string): Promise<TicketData> {
  const body = { subject, category: 'streaming', message: 'Nobody hears me.' }
  const reply = await world.as(user).call(createTicket, { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data as TicketData
}

const reply = (user: string, id: string, body: object = { message: 'Hello' }) =>
  world.as(user).call(replyToTicket, { path: { id }, body })

async function get(user: string, id: string): Promise<TicketData> {
  const found = await world.as(user).call(getTicket, { path: { id } })
  expect(found.status, found.text).toBe(200)
  return found.body.data as TicketData
}

let count = 0
interface Parts {
  readonly from: string
  readonly to?: string
  readonly text?: string
  readonly headers?: readonly string[]
  /** Fields that mail servers add at the top. The sender is verified without them. */
  readonly top?: readonly string[]
  readonly id?: string
}
const mail = ({
  from,
  headers = [],
  id = `<m${(count += 1)}@mail.test>`,
  text = 'Hello',
  to = ADDRESS,
  top = [PASS],
}: Parts) =>
  [...top, `From: ${from}`, `To: ${to}`, 'Subject: Help me', `Message-ID: ${id}`, ...headers, '', text].join('\r\n')
const send = async (parts: Parts) => {
  const body = Buffer.from(mail(parts))
  const headers = { 'Content-Type': 'message/rfc822' }
  const sent = await app.send(receiveSupportMail.route, { token: SECRET, body, headers })
  expect(sent.status, sent.text).toBe(200)
  return sent.body.data as {
    outcome: string
    ignoredFor: string | null
    isUnverified: boolean
    ticketId: string | null
  }
}
const addressOf = async (user: string) => (await world.user(user)).email
/** The newest mail to a user about a ticket with this subject, and the address to which it wants replies. */
const replyTo = async (user: string, subject: string) => {
  const found = await app.outbox.newest(await addressOf(user), new RegExp(`^Support: “${subject}”`))
  return { found, address: found.replyTo?.[0]?.address ?? '' }
}

describe('a mail', () => {
  test('to the address becomes a ticket once, and replies are threaded', async () => {
    const from = await addressOf('ada')
    const id = `<first@mail.test>`
    const first = await send({ from, id })
    expect(first.outcome).toBe('ticket')
    const ticketId = first.ticketId ?? ''
    expect(await send({ from, id })).toEqual({ outcome: 'duplicate', ignoredFor: null, isUnverified: false, ticketId })
    await reply('staff', ticketId, { message: 'Turn it off and on.' })
    const { address, found } = await replyTo('ada', 'Help me')
    expect(found.text).toContain('Turn it off and on.')
    expect([found.inReplyTo, found.references]).toEqual([id, expect.stringContaining(id)])
    const quoted = 'It works!\r\n\r\nOn Monday, Crier wrote:\r\n> Write your reply above this line.\r\n> Turn it off.'
    expect(await send({ from, to: address, text: quoted })).toMatchObject({
      outcome: 'reply',
      ticketId,
    })
    // Without the signature, the thread and the sender together do.
    const references = [`In-Reply-To: ${found.messageId}`]
    expect(await send({ from, headers: references, text: 'One more' })).toMatchObject({ outcome: 'reply', ticketId })
    expect(await send({ from: await addressOf('bob'), headers: references })).toMatchObject({ outcome: 'ticket' })
    const { messages, status } = await get('ada', ticketId)
    expect(messages.map(({ byMail, content, role }) => [role, byMail, content])).toEqual([
      ['user', true, 'Hello'],
      ['agent', false, 'Turn it off and on.'],
      ['user', true, 'It works!'],
      ['user', true, 'One more'],
    ])
    expect(status).toBe('open')
  })

  test('of the team to its signed address is a reply of the team', async () => {
    const { _id: id } = await ticket('ada', 'For the team')
    const { address } = await replyTo('staff', 'For the team')
    expect(await send({ from: await addressOf('bob'), to: address })).toMatchObject({ ignoredFor: 'wrong_signature' })
    expect(await send({ from: await addressOf('staff'), to: address, text: 'On it' })).toMatchObject({
      outcome: 'reply',
      ticketId: id,
    })
    expect((await get('ada', id)).messages.at(-1)).toMatchObject({ role: 'agent', content: 'On it', byMail: true })
  })

  test('of a program or a stranger is ignored', async () => {
    const from = await addressOf('ada')
    const { _id: id } = await ticket('ada', 'Loops')
    await reply('staff', id)
    const { address } = await replyTo('ada', 'Loops')
    for (const [parts, reason] of [
      [{ headers: ['Auto-Submitted: auto-replied'] }, 'auto_submitted'],
      [{ headers: ['Precedence: bulk'] }, 'bulk'],
      [{ headers: ['Return-Path: <>'] }, 'bounce'],
      [{ headers: ['Content-Type: multipart/report; report-type=delivery-status; boundary=x'] }, 'bounce'],
      [{ from: 'MAILER-DAEMON@example.com' }, 'machine'],
      [{ to: address.replace(/.@/, (end) => (end === '0@' ? '1@' : '0@')) }, 'wrong_signature'],
      [{ to: ADDRESS, from: 'stranger@example.com' }, 'unknown_sender'],
      [{ to: 'sales@crier.test' }, 'other_recipient'],
    ] as const) {
      expect(await send({ from, to: address, ...parts })).toEqual({
        outcome: 'ignored',
        ignoredFor: reason,
        isUnverified: false,
        ticketId: null,
      })
    }
    expect((await get('ada', id)).messages).toHaveLength(2)
  })

  test('to a ticket that was closed long ago is answered, not added', async () => {
    const { _id: id } = await ticket('ada', 'Long ago')
    await reply('staff', id)
    const { address } = await replyTo('ada', 'Long ago')
    await world.as('ada').call(updateTicket, { path: { id }, body: { status: 'closed' } })
    clock.advance(31 * DAY)
    expect(await send({ from: await addressOf('ada'), to: address })).toMatchObject({ ignoredFor: 'ticket_closed' })
    await waitFor(async () => (await replyTo('ada', 'Long ago')).found.text?.includes('closed more than 30 days ago'))
    expect((await get('ada', id)).messages).toHaveLength(2)
  })

  test('brings files that pass the checks, and names the others', async () => {
    const from = await addressOf('ada')
    const part = (name: string, content: Uint8Array) =>
      [
        '--b',
        `Content-Type: application/octet-stream; name="${name}"`,
        'Content-Transfer-Encoding: base64',
        `Content-Disposition: attachment; filename="${name}"`,
        '',
        Buffer.from(content).toString('base64'),
      ].join('\r\n')
    const text = [
      '--b',
      'Content-Type: text/plain',
      '',
      'See the files',
      part('screen.png', PIXEL),
      part('run.exe', Buffer.from('MZ\u0090')),
      '--b--',
    ].join('\r\n')
    const { outcome, ticketId } = await send({ from, headers: ['Content-Type: multipart/mixed; boundary=b'], text })
    expect(outcome).toBe('ticket')
    const [message] = (await get('ada', ticketId ?? '')).messages
    expect(message?.content).toMatch(/^See the files\n\n\[Files that were not accepted: run\.exe: /)
    expect(message?.attachments.map(({ fileType, name }) => [name, fileType])).toEqual([['screen.png', 'image/png']])
  })

  test('needs the secret of the mail server', async () => {
    for (const token of ['wrong', undefined]) {
      const refused = await app.send(receiveSupportMail.route, { token, body: Buffer.from(mail({ from: 'a@b.c' })) })
      expect([refused.status, refused.body.code]).toEqual([401, 'invalid_credential'])
    }
  })

  test('can be signed instead, which holds for five minutes and for that mail', async () => {
    const content = Buffer.from(mail({ from: await addressOf('ada') }))
    const digest = createHash('sha256').update(content).digest('hex')
    const signed = (at: number) => {
      const time = Math.floor(at / 1_000)
      const mac = createHmac('sha256', SECRET).update(`${time}.${digest}`).digest('hex')
      return { 'crier-signature': `t=${time},sha256=${digest},v1=${mac}` }
    }
    const post = (headers: Record<string, string>, body = content) =>
      app.send(receiveSupportMail.route, { headers: { ...headers, 'Content-Type': 'message/rfc822' }, body })
    expect(await post(signed(clock.now()))).toMatchObject({ status: 200, body: { data: { outcome: 'ticket' } } })
    expect(await post(signed(clock.now()))).toMatchObject({ body: { data: { outcome: 'duplicate' } } })
    for (const [headers, body, says] of [
      [signed(clock.now() - 6 * MINUTE), content, 'current time'],
      [signed(clock.now()), Buffer.concat([content, Buffer.from('!')]), 'digest of this mail'],
    ] as const) {
      const refused = await post(headers, body)
      expect([refused.status, refused.body.message]).toEqual([401, expect.stringContaining(says)])
    }
  })

  test('in the folder is taken and deleted', async () => {
    const folder = join(app.dataDir, 'inbound-mail')
    await mkdir(folder, { recursive: true })
    const from = await addressOf('bob')
    await writeFile(join(folder, 'mail.part'), mail({ from, text: 'From the folder' }))
    await rename(join(folder, 'mail.part'), join(folder, 'mail.eml'))
    await waitFor(async () => !(await readdir(folder)).includes('mail.eml'), { what: 'the mail to be taken' })
    const found = await world.as('bob').call(listTickets, { query: { category: 'mail', limit: 1 } })
    expect((await get('bob', found.body.data[0]._id)).messages).toMatchObject([{ content: 'From the folder' }])
  })
})

/** A ticket with a reply of the team, the address for replies, and the Message-ID of its mail. */
async function answered(subject: string) {
  const { _id: id } = await ticket('ada', subject)
  await reply('staff', id, { message: 'Turn it off and on.' })
  const { address, found } = await replyTo('ada', subject)
  return { id, address, inReplyTo: `In-Reply-To: ${found.messageId}` }
}

describe('a mail whose From is not verified', () => {
  test.each([
    ['fails', [FAIL]],
    ['has no result', []],
    ['has only the result of another server', ['Authentication-Results: mx.attacker.test; dmarc=pass']],
    ['has a forged result below', [FAIL, PASS]],
    ['has a forged result below one without DMARC', [`Authentication-Results: ${SERVER}; spf=pass`, PASS]],
    ['has a forged result in a comment', [`Authentication-Results: ${SERVER} 1;\r\n\t(dmarc=pass) dmarc=fail`]],
  ])('becomes a ticket for the team only: it %s', async (_what, top) => {
    const from = await addressOf('ada')
    const before = (await world.as('ada').call(listTickets, {})).body.data
    const sent = await send({ from, top, text: 'Reset my password' })
    expect(sent).toMatchObject({ outcome: 'ticket', isUnverified: true })
    const id = sent.ticketId ?? ''
    expect(await get('staff', id)).toMatchObject({
      createdBy: null,
      isUnverified: true,
      unverifiedFrom: from,
      messages: [
        { role: 'user', authorName: '', isUnverified: true, unverifiedFrom: from, content: 'Reset my password' },
      ],
    })
    const listed = await world.as('staff').call(listTickets, { query: { isUnverified: true, limit: 1 } })
    expect(listed.body.data).toMatchObject([{ _id: id, isUnverified: true, unverifiedFrom: from }])
    const verified = await world.as('staff').call(listTickets, { query: { isUnverified: false, limit: 1 } })
    expect(verified.body.data).not.toMatchObject([{ _id: id }])
    expect((await world.as('ada').call(getTicket, { path: { id } })).status).toBe(404)
    expect((await reply('ada', id)).status).toBe(404)
    expect((await world.as('ada').call(listTickets, {})).body.data).toEqual(before)
    const staff = await addressOf('staff')
    await waitFor(async () =>
      (await app.outbox.mails(staff)).some(({ text }) => text?.includes('could not be verified that it is from')),
    )
  })

  test.each([
    [
      'with a version, comments and folded lines',
      [`Authentication-Results: ${SERVER} 1 (a);\r\n\tspf=fail (b; c);\r\n dmarc=pass`],
    ],
    ['below the field of another server', ['Authentication-Results: relay.test; dmarc=fail', PASS]],
  ])('is a ticket of the user with a result %s', async (_what, top) => {
    const sent = await send({ from: await addressOf('ada'), top })
    expect(sent).toMatchObject({ outcome: 'ticket', isUnverified: false })
    expect(await get('ada', sent.ticketId ?? '')).toMatchObject({ createdBy: world.id('ada'), isUnverified: false })
  })

  test('is never a reply to a thread: it becomes a new ticket for the team', async () => {
    const { id, inReplyTo } = await answered('A thread')
    for (const top of [[FAIL], []]) {
      const sent = await send({ from: await addressOf('ada'), top, headers: [inReplyTo], text: 'FORGED' })
      expect(sent).toMatchObject({ outcome: 'ticket', isUnverified: true })
      expect(sent.ticketId).not.toBe(id)
    }
    expect((await get('staff', id)).messages).toHaveLength(2)
  })

  test('is never a reply with the signed address: it becomes a note for the team', async () => {
    const { address, id } = await answered('A signed address')
    const { address: ofTeam } = await replyTo('staff', 'A signed address')
    const [ada, staff] = [await addressOf('ada'), await addressOf('staff')]
    for (const [from, to, top] of [
      [ada, address, [FAIL]],
      [ada, address, []],
      // The address can have been passed on, so another verified sender is not the user either.
      ['friend@elsewhere.test', address, [PASS]],
      [staff, ofTeam, [FAIL]],
    ] as const) {
      expect(await send({ from, to, top, text: 'FORGED' })).toMatchObject({
        outcome: 'note',
        isUnverified: true,
        ticketId: id,
      })
      const { messages, status } = await get('staff', id)
      const note = { role: 'note', authorName: '', isUnverified: true, unverifiedFrom: from, content: 'FORGED' }
      expect([messages.at(-1), status]).toMatchObject([note, 'pending'])
    }
    const seen = await get('ada', id)
    expect(seen.messages.map(({ role }) => role)).toEqual(['user', 'agent'])
    await app.outbox.newest(staff, /A signed address/)
    // A reply of the team does not refer to a mail of a stranger.
    await reply('staff', id, { message: 'After the notes' })
    await waitFor(async () => (await replyTo('ada', 'A signed address')).found.text?.includes('After the notes'))
    const { found } = await replyTo('ada', 'A signed address')
    expect(`${found.inReplyTo} ${String(found.references)}`).not.toContain('@mail.test')
  })

  test('is answered to the confirmed address, and its thread stays apart', async () => {
    const from = await addressOf('bob')
    const { ticketId } = await send({ from, top: [] })
    const id = ticketId ?? ''
    await reply('staff', id, { message: 'Please sign in and ask again.' })
    const { address, found } = await replyTo('bob', 'Help me')
    expect(found.text).toContain('gives your address as its sender')
    expect(address).toBe(ADDRESS)
    const told = await world.as('bob').call('GET /api/notifications')
    expect(told.body.data.filter(({ type }: { type: string }) => type === 'ticket.replied')).toEqual([])
    const headers = [`In-Reply-To: ${found.messageId}`]
    expect(await send({ from, top: [], headers })).toMatchObject({ outcome: 'reply', isUnverified: true, ticketId: id })
    expect(await get('staff', id)).toMatchObject({
      status: 'open',
      messages: [{}, { role: 'agent' }, { role: 'user' }],
    })
    const other = await send({ from: await addressOf('ada'), top: [], headers })
    expect([other.outcome, other.ticketId === id]).toEqual(['ticket', false])
    const verified = await send({ from, headers })
    expect([verified.isUnverified, verified.ticketId === id]).toEqual([false, false])
  })

  test('brings no files, and is ignored when too many are open', async () => {
    await world.user('cyd')
    const from = await addressOf('cyd')
    const lines = [
      '--b',
      'Content-Type: text/plain',
      '',
      'See',
      '--b',
      'Content-Disposition: attachment; filename=a.txt',
    ]
    const text = [...lines, '', 'Text', '--b--'].join('\r\n')
    const sent = await send({ from, top: [], headers: ['Content-Type: multipart/mixed; boundary=b'], text })
    const [message] = (await get('staff', sent.ticketId ?? '')).messages
    expect(message).toMatchObject({
      attachments: [],
      content: expect.stringContaining('a.txt: the mail could not be verified'),
    })
    for (let count = 1; count < 20; count += 1) expect((await send({ from, top: [] })).outcome).toBe('ticket')
    expect(await send({ from, top: [] })).toMatchObject({ outcome: 'ignored', ignoredFor: 'conflict' })
    expect(await send({ from })).toMatchObject({ outcome: 'ticket', isUnverified: false })
  })
})

test('without SUPPORT_AUTHSERV_ID, no sender is verified, and the start says so', async () => {
  const other = await startApp({ env: { SUPPORT_ADDRESS: ADDRESS, SUPPORT_INBOUND_SECRET: SECRET } })
  try {
    const people = new World(other)
    await people.user('ada')
    const body = Buffer.from(mail({ from: (await people.user('ada')).email }))
    const headers = { 'Content-Type': 'message/rfc822' }
    const sent = await other.send(receiveSupportMail.route, { token: SECRET, body, headers })
    expect(sent.body.data).toMatchObject({ outcome: 'ticket', isUnverified: true })
    const warning = expect.stringContaining('SUPPORT_AUTHSERV_ID is not set')
    expect(other.node.facts).toContainEqual(['Warning', warning])
    expect(other.logs).toContainEqual(expect.objectContaining({ settings: 'SUPPORT_AUTHSERV_ID', msg: warning }))
  } finally {
    await other.stop()
  }
})
