import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { updateNotificationSettings } from '../../src/domains/identity/users/operations.ts'
import * as operations from '../../src/domains/talk/support/operations.ts'
import type { TicketData } from '../../src/domains/talk/support/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const {
  addTicketNote,
  createCannedReply,
  createTicket,
  deleteCannedReply,
  downloadTicketAttachment,
  getTicket,
  getTicketStats,
  listCannedReplies,
  listTickets,
  replyToTicket,
  updateCannedReply,
  updateTicket,
  uploadTicketAttachment,
} = operations

const clock = new ManualClock(Date.now())
let app: App
let world: World
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.user('ada')
  await world.user('bob')
  await world.user('staff', { admin: true })
  await world.user('boss', { admin: true })
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

const fields = { subject: 'No sound', category: 'streaming', message: 'Nobody hears me.' }

async function ticket(user = 'ada', more: object = {}): Promise<TicketData> {
  const reply = await world.as(user).call(createTicket, { body: { ...fields, ...more } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data as TicketData
}

const reply = (user: string, id: string, body: object = { message: 'Hello' }) =>
  world.as(user).call(replyToTicket, { path: { id }, body })
const change = (user: string, id: string, body: object, headers = {}) =>
  world.as(user).call(updateTicket, { path: { id }, body, headers })

async function get(user: string, id: string): Promise<TicketData> {
  const found = await world.as(user).call(getTicket, { path: { id } })
  expect(found.status, found.text).toBe(200)
  return found.body.data as TicketData
}

async function upload(user: string, name = 'screen.png', content = PIXEL) {
  return world.as(user).call(uploadTicketAttachment, { file: { name, content, type: 'image/png' } })
}

describe('a ticket', () => {
  test('waits for the team, then for its user, and shows others nothing', async () => {
    const made = await ticket()
    expect(made).toMatchObject({ status: 'open', priority: 'normal', assigneeId: null, version: 1 })
    expect(made.messages).toMatchObject([{ role: 'user', content: 'Nobody hears me.' }])
    const answered = await reply('staff', made._id)
    expect(answered.status, answered.text).toBe(200)
    expect(answered.body.data).toMatchObject({ status: 'pending' })
    expect(answered.body.data.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'agent'])
    expect((await reply('ada', made._id)).body.data.status).toBe('open')
    for (const call of [
      world.as('bob').call(getTicket, { path: { id: made._id } }),
      reply('bob', made._id),
      change('bob', made._id, { status: 'closed' }),
    ]) {
      expect((await call).status).toBe(404)
    }
    const own = await world.as('bob').call(listTickets, { query: { createdBy: world.id('ada') } })
    expect(own.body.data).toEqual([])
    const all = await world.as('staff').call(listTickets, { query: { createdBy: world.id('ada') } })
    expect(all.body.data[0]._id).toBe(made._id)
    expect((await reply('ada', made._id, {})).status).toBe(400)
  })

  test('is assigned by the team, and changed by its user within limits', async () => {
    const { _id: id } = await ticket()
    expect((await change('ada', id, { assigneeId: world.id('staff') })).status).toBe(403)
    expect((await change('ada', id, { status: 'pending' })).status).toBe(403)
    const assigned = await change('boss', id, { assigneeId: world.id('staff') })
    expect(assigned.body.data).toMatchObject({ assigneeId: world.id('staff'), version: 2 })
    await app.outbox.newest((await world.user('staff')).email, /No sound/)
    const wrong = await change('boss', id, { assigneeId: world.id('bob') })
    expect([wrong.status, wrong.body.errors[0].path]).toEqual([400, '/body/assigneeId'])
    expect((await change('ada', id, { priority: 'high', status: 'resolved' })).body.data).toMatchObject({
      priority: 'high',
      status: 'resolved',
      resolvedAt: expect.any(String),
    })
    expect((await change('ada', id, { status: 'open' }, { 'if-match': '"2"' })).status).toBe(412)
    expect((await change('ada', id, { status: 'open' }, { 'if-match': '"3"' })).body.data.resolvedAt).toBe(null)
  })

  test('takes replies until 30 days after it was closed', async () => {
    const { _id: id } = await ticket()
    await change('ada', id, { status: 'closed' })
    clock.advance(29 * DAY)
    expect((await reply('ada', id)).body.data).toMatchObject({ status: 'open', closedAt: null })
    await change('ada', id, { status: 'closed' })
    clock.advance(30 * DAY + MINUTE)
    for (const refused of [
      await reply('ada', id),
      await reply('staff', id),
      await change('ada', id, { status: 'open' }),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([409, 'ticket_closed'])
    }
  })

  test('has notes that its user never sees', async () => {
    const user = await sockets.connect(world.key('ada'))
    const team = await sockets.connect(world.key('staff'))
    const { _id: id } = await ticket()
    const file = (await upload('staff')).body.data._id as string
    const body = { message: 'SECRET-NOTE', attachments: [file] }
    expect((await world.as('ada').call(addTicketNote, { path: { id }, body: { message: 'no' } })).status).toBe(403)
    const noted = await world.as('staff').call(addTicketNote, { path: { id }, body })
    expect(noted.status, noted.text).toBe(201)
    expect(noted.body.data.messages).toMatchObject([{ role: 'user' }, { role: 'note', content: 'SECRET-NOTE' }])
    expect(noted.body.data.status).toBe('open')
    await reply('staff', id, { message: 'Public' })
    const seen = [
      await get('ada', id),
      (await world.as('ada').call(listTickets, {})).body,
      (await reply('ada', id)).body,
      (await change('ada', id, { status: 'closed' })).body,
      (await world.as('ada').call(getTicketStats, {})).body,
    ]
    expect(JSON.stringify(seen)).not.toMatch(/SECRET-NOTE|"note"/)
    const download = (who: string) => world.as(who).call(downloadTicketAttachment, { path: { id: file } })
    expect([(await download('ada')).status, (await download('boss')).status]).toEqual([404, 200])
    const of = (events: typeof user.events) =>
      events.flatMap(({ data, name }) => (data.ticketId === id ? [[name, data.status]] : []))
    await waitFor(() => of(user.events).length >= 4 && of(team.events).length >= 5, { what: 'events at both' })
    expect(of(user.events)).toEqual([
      ['ticket.created', 'open'],
      ['ticket.updated', 'pending'],
      ['ticket.updated', 'open'],
      ['ticket.updated', 'closed'],
    ])
    expect(of(team.events).map(([name]) => name)).toContain('ticketNote.added')
    const mails = await app.outbox.mails((await world.user('ada')).email)
    expect(mails.filter(({ text }) => text?.includes('SECRET-NOTE'))).toEqual([])
  })

  test('has files that only its participants read', async () => {
    const uploaded = await upload('ada')
    expect(uploaded.body.data).toMatchObject({ name: 'screen.png', fileType: 'image/png', id: uploaded.body.data._id })
    const { id: fileId, url } = uploaded.body.data as { id: string; url: string }
    const download = async (user: string) =>
      (await world.as(user).call(downloadTicketAttachment, { path: { id: fileId } })).status
    expect([await download('ada'), await download('staff')]).toEqual([200, 404])
    const stolen = await world.as('bob').call(createTicket, { body: { ...fields, attachments: [fileId] } })
    expect([stolen.status, stolen.body.errors[0].path]).toEqual([400, '/body/attachments/0'])
    const { _id: id } = await ticket()
    const sent = await reply('ada', id, { message: 'Look', attachments: [url] })
    expect(sent.body.data.messages[1].attachments).toMatchObject([{ id: fileId, url }])
    expect([await download('ada'), await download('staff'), await download('bob')]).toEqual([200, 200, 404])
    expect((await reply('ada', id, { message: 'Again', attachments: [fileId] })).status).toBe(400)
    const page = await upload('ada', 'page.png', Uint8Array.from(Buffer.from('<html><script>1</script>')))
    expect([page.status, page.body.code]).toEqual([415, 'unsupported_file'])
    const large = await upload('ada', 'large.png', new Uint8Array(10 * 1024 * 1024 + 1))
    expect(large.status).toBe(413)
  })
})

test('a reply of the team is one notification, and a mail if the user wants one', async () => {
  await world.user('cyd')
  const { _id: id } = await ticket('cyd', { subject: 'Quiet' })
  const settings = (email: boolean) => ({ body: { kinds: { supportReply: { email } } } })
  await world.as('cyd').call(updateNotificationSettings, settings(false))
  await reply('staff', id, { message: 'First' })
  await reply('staff', id, { message: 'Second' })
  const told = async () =>
    (await world.as('cyd').call('GET /api/notifications')).body.data.filter(
      ({ type }: { type: string }) => type === 'ticket.replied',
    )
  await waitFor(async () => (await told())[0]?.count === 2)
  expect(await told()).toMatchObject([{ kind: 'supportReply', resourceKind: 'ticket', resourceId: id }])
  await world.as('cyd').call(updateNotificationSettings, settings(true))
  await reply('staff', id, { message: 'Third' })
  const { email } = await world.user('cyd')
  const mails = async () => (await app.outbox.mails(email)).map(({ text = '' }) => text)
  await waitFor(async () => (await mails()).some((text) => text.includes('Third')))
  expect((await mails()).filter((text) => /First|Second/.test(text))).toEqual([])
  expect((await mails()).filter((text) => text.includes('Third'))).toHaveLength(1)
})

test('statistics measure the times against the targets', async () => {
  const stats = async (user: string) => (await world.as(user).call(getTicketStats, {})).body.data
  const before = await stats('staff')
  const { _id: id } = await ticket('bob', { priority: 'urgent', category: 'billing' })
  clock.advance(2 * HOUR)
  expect((await get('bob', id)).isOverdue).toBe(true)
  await reply('staff', id)
  clock.advance(HOUR)
  await change('bob', id, { status: 'resolved' })
  const { createdAt, firstResponseDueAt, isOverdue } = await get('bob', id)
  expect([Date.parse(firstResponseDueAt) - Date.parse(createdAt), isOverdue]).toEqual([HOUR, false])
  const after = await stats('staff')
  expect(after.firstResponse.missedCount).toBe(before.firstResponse.missedCount + 1)
  expect(after.resolution.metCount).toBe(before.resolution.metCount + 1)
  expect(after.byCategory).toContainEqual({ category: 'billing', count: 1 })
  expect(await stats('bob')).toEqual({
    total: 1,
    byStatus: [{ status: 'resolved', count: 1 }],
    byPriority: [{ priority: 'urgent', count: 1 }],
    byCategory: [{ category: 'billing', count: 1 }],
    firstResponse: null,
    resolution: null,
  })
})

test('canned replies are for administrators', async () => {
  const made = await world.as('staff').call(createCannedReply, { body: { title: 'Hi', content: 'Hello' } })
  const path = { id: made.body.data._id as string }
  const headers = { 'if-match': '"1"' }
  const changed = await world.as('boss').call(updateCannedReply, { path, body: { title: 'Hey' }, headers })
  expect(changed.body.data).toMatchObject({ title: 'Hey', content: 'Hello', version: 2 })
  expect((await world.as('boss').call(updateCannedReply, { path, body: { title: 'X' }, headers })).status).toBe(412)
  expect((await world.as('ada').call(listCannedReplies, {})).status).toBe(403)
  expect((await world.as('boss').call(deleteCannedReply, { path })).status).toBe(200)
  expect((await world.as('boss').call(deleteCannedReply, { path })).status).toBe(404)
})
