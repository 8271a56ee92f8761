import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, HOUR } from '../../src/core/clock.ts'
import { startSchedule } from '../../src/domains/publishing/reports/turns.ts'
import { PostWorld } from '../support/post-world.ts'
import { seedMember, seedUser, seedWorkspace } from '../support/seed.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

let world: PostWorld
const sockets = new Sockets(() => world.app)
const DOMAINS = { REPORT_DOMAINS: 'reports.acme.example, other.example=0192f5a0-0000-7000-8000-000000000001' }
beforeAll(async () => void (world = await PostWorld.start('reports', undefined, DOMAINS)))
afterAll(async () => {
  sockets.end()
  await world.stop()
})

/** A new workspace in the time zone of Berlin. */
async function workspace(name: string, plan: 'free' | 'business' = 'business') {
  const { app, clock } = world
  const owner = await seedUser(app, `reports-${name}`, { plan })
  const mine = new PostWorld({ app, clock, owner, workspaceId: await seedWorkspace(app, name, owner) })
  await mine.send('PATCH /api/workspaces/{id}', { path: { id: mine.workspaceId }, body: { timezone: 'Europe/Berlin' } })
  return mine
}

const addSchedule = (mine: PostWorld, body: object = {}) =>
  mine.send('POST /api/analytics/report-schedules', {
    body: { workspaceId: mine.workspaceId, name: 'Weekly', interval: 'week', ...body },
  })
const schedule = async (mine: PostWorld, body: object = {}) => {
  const reply = await addSchedule(mine, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}
const getSchedule = async (mine: PostWorld, id: string) =>
  (await mine.send('GET /api/analytics/report-schedules/{id}', { path: { id } })).body.data
const change = (mine: PostWorld, id: string, body: object) =>
  mine.send('PATCH /api/analytics/report-schedules/{id}', { path: { id }, body })
const reportsOf = async (mine: PostWorld, scheduleId: string) =>
  (await mine.send('GET /api/analytics/reports', { query: { workspaceId: mine.workspaceId, scheduleId } })).body.data
/** What the schedule of the server does each minute. */
const startDue = async (mine: PostWorld) => {
  const { reports, turns } = world.app.composition.services
  const due = (await reports.schedules.due()).filter(({ workspaceId }) => workspaceId === mine.workspaceId)
  for (const { id } of due) await turns.system(mine.workspaceId, startSchedule, { scheduleId: id })
  return due.length
}
const pathOf = (text: string, kind: string) => {
  const [, token = ''] = new RegExp(`/api/${kind}/([\\w.-]+)`).exec(text) ?? []
  return { token }
}

test('a report is made by a job that reports its progress', async () => {
  const mine = await workspace('job')
  const listening = await sockets.connect(mine.owner.apiKey)
  const body = { workspaceId: mine.workspaceId, from: '2026-11-01', to: '2026-11-20' }
  const asked = await mine.send('POST /api/analytics/reports', { body })
  expect(asked.status, asked.text).toBe(202)
  const { _id: id, jobId } = asked.body.data
  const report = await waitFor(async () => {
    const { data } = (await mine.send('GET /api/analytics/reports/{id}', { path: { id } })).body
    return data.status === 'done' && data
  })
  expect(report).toMatchObject({ percent: 100, error: null, reportDeliveries: [], scheduleId: null })
  await waitFor(() => listening.events.some(({ data, name }) => name === 'report.updated' && data.data._id === id))
  expect(listening.events.some(({ data, name }) => name === 'job.progress' && data.jobId === jobId)).toBe(true)
  const file = await mine.send('GET /api/analytics/reports/{id}/file', { path: { id } })
  expect(file.headers.get('content-type')).toBe('application/pdf')
  expect(file.text.startsWith('%PDF')).toBe(true)
  expect(report.size).toBeLessThan(2_000_000)
  expect((await mine.send('DELETE /api/analytics/reports/{id}', { path: { id } })).status).toBe(200)
  expect((await mine.send('GET /api/analytics/reports/{id}/file', { path: { id } })).status).toBe(404)
})

test('each click on the same report that is not done gets the same one, and there is a limit', async () => {
  const mine = await workspace('clicks')
  const { files } = world.app.composition.services.reports
  const body = (day: number) => ({ workspaceId: mine.workspaceId, from: `2026-11-${day}`, to: `2026-11-${day}` })
  const ask = (day: number) => mine.send('POST /api/analytics/reports', { body: body(day) })
  // Once their jobs have ended, reports that are put back stay as they are.
  const putBack = async () => {
    const { database } = world.app
    const open = `select from outbox where workspace_id = $1 and name = 'reports.make'`
    await waitFor(async () => (await database.rows(open, [mine.workspaceId])).length === 0)
    await database.run(`update reports set status = 'waiting', size = null where workspace_id = $1`, [mine.workspaceId])
  }
  const first = await ask(10)
  await putBack()
  expect((await ask(10)).body.data._id).toBe(first.body.data._id)
  for (let day = 11; day < 20; day += 1) expect((await ask(day)).status).toBe(202)
  await putBack()
  const refused = await ask(20)
  expect([refused.status, refused.body.code]).toEqual([409, 'too_many_reports'])
  const waiting = await mine.send('GET /api/analytics/reports/{id}/file', { path: { id: first.body.data._id } })
  expect(waiting.status).toBe(409)
  world.clock.advance(2 * HOUR)
  const lost = await files.lost()
  expect(lost.filter(({ workspaceId }) => workspaceId === mine.workspaceId)).toHaveLength(10)
  await world.app.database.run('delete from reports where workspace_id = $1', [mine.workspaceId])
})

test('a schedule sends one report for its time, to people who have agreed and to channels', async () => {
  const mine = await workspace('schedule')
  const { workspaceId } = mine
  const linkDomain = 'reports.acme.example'
  await mine.send('PUT /api/analytics/report-branding', { body: { workspaceId, linkDomain } })
  const member = await seedUser(world.app, 'reports-reader')
  await seedMember(world.app, mine.workspaceId, member, { scopes: ['analytics:read'] })
  const channel = await mine.send('POST /api/team/{workspaceId}/channels', {
    path: { workspaceId: mine.workspaceId },
    body: { kind: 'channel', name: 'figures' },
  })
  const channelId = channel.body.data._id
  const made = await schedule(mine, {
    recipientEmails: ['Client@Example.org', member.email],
    channelIds: [channelId],
    weekday: 'tuesday',
  })
  // The clock is at Monday, 30 November; Berlin is an hour ahead of UTC.
  expect(made).toMatchObject({ status: 'active', time: '08:00', timezone: 'Europe/Berlin', lastReport: null })
  expect(made.nextReportAt).toBe('2026-12-01T07:00:00.000Z')
  const statuses = Object.fromEntries(
    made.recipients.map((one: { email: string; status: string }) => [one.email, one.status]),
  )
  expect(statuses).toEqual({ 'client@example.org': 'waiting', [member.email]: 'confirmed' })

  const question = await world.app.outbox.newest('client@example.org', /Do you want reports/)
  const path = pathOf(question.text ?? '', 'report-mails')
  expect(question.text).toContain(`http://${linkDomain}/api/report-mails/${path.token}`)
  const headers = { Host: linkDomain }
  const page = await world.app.send('GET /api/report-mails/{token}', { path, headers })
  expect(page.text).toContain('Yes, send them to me')
  expect((await getSchedule(mine, made._id)).recipients).toEqual(made.recipients)
  expect((await world.app.send('POST /api/report-mails/{token}', { path })).status).toBe(200)

  expect(await startDue(mine)).toBe(0)
  world.clock.advance(8 * DAY)
  expect(await startDue(mine)).toBe(1)
  // Another node that saw it as due does nothing.
  const { turns } = world.app.composition.services
  await turns.system(mine.workspaceId, startSchedule, { scheduleId: made._id })
  const report = await waitFor(async () => {
    const [found, more] = await reportsOf(mine, made._id)
    expect(more).toBeUndefined()
    const sent = (found.reportDeliveries as { status: string }[]).filter(({ status }) => status === 'sent')
    return sent.length === 3 && found
  })
  // Of the two Tuesdays that have passed, the last one: the week before 8 December.
  expect(report).toMatchObject({ from: '2026-12-01', to: '2026-12-07', status: 'done' })
  expect((await getSchedule(mine, made._id)).nextReportAt).toBe('2026-12-15T07:00:00.000Z')

  const mail = await world.app.outbox.newest('client@example.org', /^Weekly: 1 December 2026 to 7 December 2026$/)
  const filePath = pathOf(mail.text ?? '', 'report-files')
  expect(mail.text).toContain(`http://${linkDomain}/api/report-files/${filePath.token}`)
  const file = await world.app.send('GET /api/report-files/{token}', { path: filePath, headers })
  expect(file.headers.get('content-type')).toBe('application/pdf')
  const messages = await mine.send('GET /api/team/{workspaceId}/channels/{channelId}/messages', {
    path: { workspaceId: mine.workspaceId, channelId },
  })
  expect(messages.body.data).toMatchObject([
    { author: mine.owner.id, attachments: [{ name: 'report-2026-12-01-2026-12-07.pdf', fileType: 'application/pdf' }] },
  ])

  // One click in the mail program ends the mails. A second one changes nothing.
  const header = mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? ''
  expect(header).toContain(`http://${linkDomain}/`)
  for (const _click of [1, 2]) {
    const ended = await world.app.send('POST /api/report-mails/{token}', { path: pathOf(header, 'report-mails') })
    expect(ended.status).toBe(200)
  }
  const { recipients } = await getSchedule(mine, made._id)
  expect(recipients).toContainEqual({ email: 'client@example.org', status: 'unsubscribed' })
  // A list that has the address again does not start the mails.
  const kept = await change(mine, made._id, { recipientEmails: ['client@example.org'] })
  expect(kept.body.data.recipients).toEqual([{ email: 'client@example.org', status: 'unsubscribed' }])
})

test('what cannot be sent is visible, and its member is told', async () => {
  const mine = await workspace('failing')
  const channel = await mine.send('POST /api/team/{workspaceId}/channels', {
    path: { workspaceId: mine.workspaceId },
    body: { kind: 'channel', name: 'archive' },
  })
  const channelId = channel.body.data._id
  const made = await schedule(mine, { interval: 'day', channelIds: [channelId], format: 'html' })
  await mine.send('PATCH /api/team/{workspaceId}/channels/{channelId}', {
    path: { workspaceId: mine.workspaceId, channelId },
    body: { archived: true },
  })
  world.clock.advance(2 * DAY)
  await startDue(mine)
  const failed = await waitFor(async () => {
    const [report] = await reportsOf(mine, made._id)
    return report.reportDeliveries[0]?.status === 'failed' && report.reportDeliveries[0]
  })
  expect(failed).toMatchObject({ channelId, error: expect.stringMatching(/archived/i) })
  expect((await getSchedule(mine, made._id)).lastReport).toMatchObject({ status: 'done', failedDeliveryCount: 1 })
  await waitFor(async () => {
    const { data } = (await mine.send('GET /api/notifications')).body
    return data.some(({ type }: { type: string }) => type === 'report.failed')
  })
})

test('a paused schedule makes no reports, and one whose member has left is paused', async () => {
  const mine = await workspace('paused')
  const member = await seedUser(world.app, 'reports-leaver')
  await seedMember(world.app, mine.workspaceId, member, { scopes: ['analytics:read', 'workspace:manage'] })
  const theirs = new PostWorld({ app: world.app, clock: world.clock, owner: member, workspaceId: mine.workspaceId })
  const made = await schedule(theirs, { interval: 'day' })
  const paused = await change(mine, made._id, { status: 'paused' })
  expect(paused.body.data).toMatchObject({ status: 'paused', pausedReason: 'by_member', nextReportAt: null })
  world.clock.advance(2 * DAY)
  expect(await startDue(mine)).toBe(0)
  const resumed = await change(theirs, made._id, { status: 'active' })
  expect(resumed.body.data.createdBy).toBe(member.id)
  const left = await mine.send('DELETE /api/team/{workspaceId}/members/{userId}', {
    path: { workspaceId: mine.workspaceId, userId: member.id },
  })
  expect(left.status).toBe(200)
  world.clock.advance(2 * DAY)
  await startDue(mine)
  const after = await getSchedule(mine, made._id)
  expect(after).toMatchObject({ status: 'paused', pausedReason: 'no_access', lastReport: null })
  const again = await change(mine, made._id, { status: 'active' })
  expect(again.body.data).toMatchObject({ status: 'active', createdBy: mine.owner.id })
})

test('times follow the zone of the workspace', async () => {
  const mine = await workspace('zone')
  const made = await schedule(mine, { interval: 'month', monthDay: 28, time: '07:15' })
  expect(made.nextReportAt.slice(11)).toBe('06:15:00.000Z')
  const path = { id: mine.workspaceId }
  await mine.send('PATCH /api/workspaces/{id}', { path, body: { timezone: 'Asia/Kathmandu' } })
  await waitFor(async () => (await getSchedule(mine, made._id)).nextReportAt.slice(11) === '01:30:00.000Z')
})

test('reports have the look of the workspace', async () => {
  const mine = await workspace('brand')
  const { workspaceId } = mine
  const set = (body: object) => mine.send('PUT /api/analytics/report-branding', { body: { workspaceId, ...body } })
  // Neither a domain that the operator has not listed, nor that of another workspace.
  for (const linkDomain of ['evil.example', 'other.example']) {
    const refused = await set({ linkDomain })
    expect(refused.body.errors).toMatchObject([{ path: '/body/linkDomain', code: 'unknown_domain' }])
  }
  for (const linkDomain of ['https://reports.acme.example', 'reports.acme.example:8080', 'reports']) {
    expect((await set({ linkDomain })).status).toBe(400)
  }
  expect((await set({ logoAssetId: crypto.randomUUID() })).body.errors).toMatchObject([{ code: 'not_a_picture' }])
  const logoAssetId = await mine.picture()
  const body = { logoAssetId, accentColor: '#7e22ce', companyName: 'Agency', footerText: 'Confidential' }
  expect((await set(body)).status).toBe(200)
  const html = await waitFor(async () => {
    const { text } = await mine.send('GET /api/analytics/report.html', { query: { workspaceId } })
    // The library makes small pictures of a new file after the upload.
    return text.includes('data:image/webp') && text
  })
  for (const part of ['<h1>Agency</h1>', '#7e22ce', 'Confidential', 'alt="Logo of Agency"'])
    expect(html).toContain(part)
  expect((await set({})).body.data).toMatchObject({ logoAssetId: null, companyName: null })
})

test('refusals say what to change', async () => {
  const mine = await workspace('refused', 'free')
  const other = crypto.randomUUID()
  const unknownChannel = await addSchedule(mine, { channelIds: [other] })
  expect(unknownChannel.body.errors).toMatchObject([
    { path: '/body/channelIds/0', message: 'must be a channel that you can see' },
  ])
  expect((await addSchedule(mine, { accountIds: [other] })).status).toBe(404)
  expect((await addSchedule(mine, { time: '25:00' })).status).toBe(400)
  expect((await addSchedule(mine, { monthDay: 31 })).status).toBe(400)
  const ids: string[] = []
  for (let made = 0; made < 3; made += 1) ids.push((await schedule(mine))._id)
  const full = await addSchedule(mine)
  expect([full.status, full.body.details]).toMatchObject([402, { limit: 'reportSchedules', value: 3, used: 3 }])
  const [id = ''] = ids
  const stale = await mine.send('DELETE /api/analytics/report-schedules/{id}', {
    path: { id },
    headers: { 'If-Match': '"9"' },
  })
  expect(stale.status).toBe(412)
  expect((await mine.send('DELETE /api/analytics/report-schedules/{id}', { path: { id } })).status).toBe(200)
  const forged = await world.app.send('GET /api/report-files/{token}', { path: { token: 'ZmlsZSB4.AAAA' } })
  expect([forged.status, forged.text.includes('not valid any more')]).toEqual([404, true])
})

test('a report is in the language of the request, of the reader, or of its schedule', async () => {
  const mine = await workspace('language')
  const { workspaceId } = mine
  const read = async (query: object, headers: Record<string, string> = {}) => {
    const reply = await mine.send('GET /api/analytics/report.html', { query: { workspaceId, ...query }, headers })
    expect(reply.headers.get('vary')).toContain('Accept-Language')
    return [reply.headers.get('content-language'), /<html lang="(\w+)"/.exec(reply.text)?.[1]]
  }
  const [english, german] = [
    ['en', 'en'],
    ['de', 'de'],
  ]
  expect(await read({}, { 'Accept-Language': 'de-AT,de;q=0.9,en;q=0.5' })).toEqual(german)
  expect(await read({ language: 'en' }, { 'Accept-Language': 'de' })).toEqual(english)
  expect(await read({}, { 'Accept-Language': 'pl' })).toEqual(english)
  const settings = await mine.send('PATCH /api/users/me/settings/ui', { body: { language: 'de-CH' } })
  expect(settings.status, settings.text).toBe(200)
  expect(await read({}, { 'Accept-Language': 'pl' })).toEqual(german)
  expect(await read({}, { 'Accept-Language': '*' })).toEqual(german)
  expect(await read({}, { 'Accept-Language': 'en-US' })).toEqual(english)
  const pdf = await mine.send('GET /api/analytics/report.pdf', { query: { workspaceId, language: 'de' } })
  expect(pdf.headers.get('content-language')).toBe('de')
  expect(pdf.text).toMatch(/\/Lang\s*\(de\)/)
  expect((await mine.send('GET /api/analytics/report.pdf', { query: { workspaceId, language: 'fr' } })).status).toBe(
    400,
  )

  const asked = await mine.send('POST /api/analytics/reports', { body: { workspaceId, format: 'html' } })
  expect(asked.body.data.language).toBe('de')
  // Another language is another report.
  const other = await mine.send('POST /api/analytics/reports', {
    body: { workspaceId, format: 'html', language: 'en' },
  })
  expect(other.body.data._id).not.toBe(asked.body.data._id)

  const made = await schedule(mine, { interval: 'day', format: 'html', recipientEmails: ['leser@example.org'] })
  expect(made.language).toBe('de')
  const question = await world.app.outbox.newest('leser@example.org', /./)
  const path = pathOf(question.text ?? '', 'report-mails')
  expect((await world.app.send('GET /api/report-mails/{token}', { path })).text).toContain('<html lang="de"')
  await world.app.send('POST /api/report-mails/{token}', { path })
  world.clock.advance(2 * DAY)
  await startDue(mine)
  await waitFor(async () => (await reportsOf(mine, made._id))[0]?.reportDeliveries[0]?.status === 'sent')
  const [report] = await reportsOf(mine, made._id)
  const file = await mine.send('GET /api/analytics/reports/{id}/file', { path: { id: report._id } })
  expect(file.text).toContain('<html lang="de">')
  const mail = await world.app.outbox.newest('leser@example.org', /^Weekly: /)
  expect(mail.text).toContain('Bericht')

  expect((await change(mine, made._id, { language: 'en' })).body.data.language).toBe('en')
  expect((await world.app.send('GET /api/report-mails/{token}', { path })).text).toContain('<html lang="en"')
  // Nobody knows whose link this is.
  const wrong = { path: { token: 'x.y' }, headers: { 'Accept-Language': 'de' } }
  expect((await world.app.send('GET /api/report-mails/{token}', wrong)).text).toContain('<html lang="de"')
  expect((await world.app.send('GET /api/report-files/{token}', wrong)).text).toContain('<html lang="de"')
})
