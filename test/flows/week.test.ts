import type { Browser, Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HOUR } from '../../src/core/clock.ts'
import type { BulkResultData } from '../../src/domains/publishing/writing/bulk/schemas.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { foreignRequests, launchBrowser } from '../support/browser.ts'
import { PostWorld } from '../support/post-world.ts'
import { refuseNext } from '../support/sandbox-faults.ts'
import { seedMember, seedUser, type SeededUser } from '../support/seed.ts'
import type { Reply } from '../support/send.ts'

/**
 * A team plans a week: a calendar as CSV, two stages of approval of which the second is a client with a link on a phone,
 * publication at three platforms, and deletion from them. The team's calls come from a page in chromium.
 */

const PLATFORMS = ['mastodon', 'bluesky', 'x'] as const
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday']

let world: PostWorld
let browser: Browser
/** A page that calls the API. */
let frontEnd: Page
/** The client's phone. */
let phone: Page
const requestedByPhone: string[] = []
const complaints: string[] = []
let writer: SeededUser
let ann: SeededUser
/** The path of the client's link. */
let client: string
/** The accounts as people write them in a sheet. */
let handles: string[]
let batchId: string
/** The posts by their days. */
const week = new Map<string, string>()

beforeEach(async () => {
  requestedByPhone.length = 0
  complaints.length = 0
  // A Sunday.
  world = await PostWorld.start('week', '2026-11-29T08:00:00Z')
  const { app, owner, workspaceId } = world
  writer = await seedUser(app, 'writer')
  ann = await seedUser(app, 'ann')
  await seedMember(app, workspaceId, writer, { role: 'contributor' })
  await seedMember(app, workspaceId, ann, { role: 'editor' })
  for (const platform of PLATFORMS) await world.account(platform)
  browser = await launchBrowser()
  frontEnd = await browser.newPage()
  watch(frontEnd)
  await frontEnd.goto(`${app.url}/docs/states`)
  const listed = await call(owner, `GET /api/social-accounts?workspaceId=${workspaceId}`)
  handles = listed.data.map(({ handle, platform }: { handle: string; platform: string }) => `${platform}:${handle}`)
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, isMobile: true })
  phone = await context.newPage()
  watch(phone)
  phone.on('request', (request) => void requestedByPhone.push(request.url()))
})
afterEach(async () => {
  await browser?.close()
  await world?.stop()
})

function watch(page: Page): void {
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => void complaints.push(error.message))
}

interface Answer {
  readonly status: number
  readonly data: Reply['body']
}

/** Calls the API from a page, as a front end does. @param file the text of a file to upload, with the body as fields */
async function call(user: SeededUser, route: string, body?: object, file?: string): Promise<Answer> {
  const [method = '', path = ''] = route.split(' ')
  const { status, text } = await frontEnd.evaluate(
    async (request) => {
      const form = new FormData()
      for (const [name, value] of Object.entries(request.body ?? {})) form.append(name, String(value))
      if (request.file !== undefined) form.append('file', new Blob([request.file]), 'week.csv')
      const json = request.body === undefined ? null : JSON.stringify(request.body)
      const reply = await fetch(request.path, {
        method: request.method,
        headers: {
          'X-API-Key': request.key,
          ...(request.file === undefined && { 'Content-Type': 'application/json' }),
        },
        body: request.file === undefined ? json : form,
      })
      return { status: reply.status, text: await reply.text() }
    },
    { method, path, body, file, key: user.apiKey },
  )
  const { data } = JSON.parse(text) as { data: Reply['body'] }
  return { status, data }
}

/** The calendar, as a spreadsheet exports it in much of Europe. */
function sheet(tuesday: string): string {
  const dates = ['30.11.2026', tuesday, '02.12.2026', '03.12.2026', '04.12.2026']
  const rows = DAYS.map((day, index) => {
    return `"${day}: ""doors open"" at 10";${dates[index]} 10:00;Europe/Berlin;"${handles.join(', ')}";acme`
  })
  return `\uFEFF${['Content;Scheduled For;Timezone;Accounts;Labels', ...rows].join('\r\n')}`
}

const upload = (csv: string, options: object = {}) =>
  call(writer, 'POST /api/posts/import', { workspaceId: world.workspaceId, ...options }, csv)

const idOf = (day: string) => week.get(day) ?? ''
const post = async (day: string): Promise<PostData> => (await call(writer, `GET /api/posts/${idOf(day)}`)).data
const statuses = async () =>
  Object.fromEntries(await Promise.all(DAYS.map(async (day) => [day, (await post(day)).status])))
const all = (status: string) => Object.fromEntries(DAYS.map((day) => [day, status]))

async function annApproves(day: string): Promise<void> {
  const { contentHash } = (await post(day)).approval ?? {}
  const reply = await call(ann, `POST /api/posts/${idOf(day)}/approval`, { decision: 'approve', contentHash })
  expect(reply).toMatchObject({ status: 200, data: { approval: { stageName: 'Client' } } })
}

/** Opens the link anew, because a reload would send the last decision again. */
const clientLooks = () => phone.goto(world.app.url + client)

/** The part of the phone's page that shows a post. */
const shown = (text: string) => phone.locator('article').filter({ hasText: text })

async function clientApproves(text: string): Promise<void> {
  await shown(text).getByRole('button', { name: 'Approve' }).click()
  await phone.getByRole('status').filter({ hasText: 'recorded' }).waitFor()
}

async function atPlatforms(text: string): Promise<number[]> {
  return Promise.all(PLATFORMS.map(async (platform) => (await world.published(text, platform)).length))
}

test('a team plans, approves, publishes and deletes a week of posts', async () => {
  const { clock, owner, workspaceId } = world
  const stages = [
    { name: 'Team', approvers: { userIds: [ann.id] } },
    { name: 'Client', approvers: { guests: true } },
  ]
  expect((await call(owner, `PUT /api/approvals/${workspaceId}/flow`, { stages })).status).toBe(200)
  const guest = { name: 'Grace of Acme', label: 'acme', timezone: 'Europe/Berlin' }
  const link = await call(owner, `POST /api/approvals/${workspaceId}/guests`, guest)
  expect(link.status).toBe(201)
  client = new URL(link.data.url).pathname

  // The calendar: a mistake is found by the dry run, in its row and column.
  const dry: BulkResultData = (await upload(sheet('32.12.2026'), { dryRun: true })).data
  expect(dry.rows.map(({ row, status }) => [row, status])).toEqual([
    [2, 'valid'],
    [3, 'refused'],
    [4, 'valid'],
    [5, 'valid'],
    [6, 'valid'],
  ])
  expect(dry.rows[1]?.errors).toMatchObject([{ column: 'scheduledFor' }])
  expect((await call(writer, `GET /api/posts?workspaceId=${workspaceId}`)).data).toEqual([])
  const imported = await upload(sheet('01.12.2026'))
  expect(imported).toMatchObject({ status: 201, data: { createdCount: 5 } })
  batchId = imported.data.batchId
  const rows = (imported.data as BulkResultData).rows
  for (const [index, day] of DAYS.entries()) week.set(day, rows[index]?.postId ?? '')
  const listed = await call(writer, `GET /api/posts?workspaceId=${workspaceId}&sort=scheduledFor&label=acme`)
  expect(listed.data.map((one: PostData) => [one._id, one.localTime?.slice(0, 16), one.targets.length])).toEqual([
    [idOf('Monday'), '2026-11-30T10:00', 3],
    [idOf('Tuesday'), '2026-12-01T10:00', 3],
    [idOf('Wednesday'), '2026-12-02T10:00', 3],
    [idOf('Thursday'), '2026-12-03T10:00', 3],
    [idOf('Friday'), '2026-12-04T10:00', 3],
  ])

  // The team, then the client. The client sees posts at once, and cannot decide before the team has.
  expect(await statuses()).toEqual(all('in_review'))
  await clientLooks()
  await shown('Monday').waitFor()
  expect(await phone.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  for (const day of DAYS) await annApproves(day)
  await clientLooks()
  expect(await phone.getByRole('heading', { level: 3 }).first().innerText()).toBe(
    'Monday, 30 November 2026 at 10:00 (Europe/Berlin)',
  )
  expect(await phone.evaluate('document.documentElement.scrollWidth'), 'nothing is wider than the phone').toBe(390)
  for (const day of DAYS) await clientApproves(`${day}:`)
  expect(await statuses()).toEqual(all('scheduled'))

  // An edit opens the flow again, from the first stage.
  const edited = await call(writer, `PATCH /api/posts/${idOf('Monday')}`, { content: 'Monday: doors open at 11' })
  expect(edited.data).toMatchObject({ status: 'in_review', approval: { stageName: 'Team' } })
  const changes = await call(ann, `GET /api/posts/${idOf('Monday')}/approval/changes`)
  expect(JSON.stringify(changes.data)).toContain('11')
  await annApproves('Monday')
  await clientLooks()
  expect(await shown('Monday').locator('ins').allInnerTexts()).toContain('11')
  await clientApproves('Monday:')
  expect(await statuses()).toEqual(all('scheduled'))

  // Three platforms at once. One refuses the post, and is tried again alone.
  await refuseNext(world.app, 'x', '/2/tweets')
  clock.advance(25 * HOUR + 1_000)
  const partial = await world.until(idOf('Monday'), ({ targets }) =>
    targets.every(({ status }) => ['published', 'failed'].includes(status)),
  )
  expect(partial.status).toBe('partial')
  expect(Object.fromEntries(partial.targets.map(({ platform, status }) => [platform, status]))).toEqual({
    mastodon: 'published',
    bluesky: 'published',
    x: 'failed',
  })
  const failed = partial.targets.find(({ platform }) => platform === 'x')
  expect(failed?.statusReason).toMatchObject({ nextStep: expect.any(String) })
  expect(await atPlatforms('doors open at 11')).toEqual([1, 1, 0])
  expect((await call(owner, `POST /api/posts/${idOf('Monday')}/retry`)).status).toBe(200)
  const out = await world.ended(idOf('Monday'), 'published')
  expect(await atPlatforms('doors open at 11')).toEqual([1, 1, 1])
  const attempts = (one: PostData, platform: string) =>
    one.targets.find((target) => target.platform === platform)?.attemptCount
  for (const platform of ['mastodon', 'bluesky']) expect(attempts(out, platform)).toBe(attempts(partial, platform))
  expect(out.targets.map(({ publishedVersion }) => publishedVersion)).toEqual([2, 2, 2])

  // Versions: an unlucky edit is undone. What approvers see is another text again, so they decide again.
  const friday = idOf('Friday')
  await call(writer, `PATCH /api/posts/${friday}`, { content: 'Friday: closed' })
  const versions = await call(writer, `GET /api/posts/${friday}/versions`)
  expect(versions.data).toMatchObject([
    { version: 2, kind: 'edited', actor: { _id: writer.id }, changes: { parts: ['text'] } },
    { version: 1, kind: 'created', content: 'Friday: "doors open" at 10', changes: null },
  ])
  const restored = await call(writer, `POST /api/posts/${friday}/versions/1/restore`)
  expect(restored.data).toMatchObject({ version: 3, content: 'Friday: "doors open" at 10', status: 'in_review' })
  await annApproves('Friday')
  await clientLooks()
  await clientApproves('Friday:')
  expect(await post('Friday')).toMatchObject({ status: 'scheduled' })

  // Deletion from the platforms, and of the rest of the week.
  const removal = await call(owner, `DELETE /api/posts/${idOf('Monday')}?fromPlatforms=true`)
  expect(removal.status).toBe(202)
  await world.gone(idOf('Monday'))
  expect(await atPlatforms('doors open at 11')).toEqual([0, 0, 0])
  const undone = await call(writer, `DELETE /api/posts/batches/${batchId}`)
  expect(undone).toMatchObject({ status: 200, data: { deletedCount: 4, kept: [] } })
  clock.advance(24 * HOUR)
  expect((await call(writer, `GET /api/posts?workspaceId=${workspaceId}`)).data).toEqual([])
  expect(await atPlatforms('doors open')).toEqual([0, 0, 0])

  expect(foreignRequests(requestedByPhone, world.app.url)).toEqual([])
  expect(complaints).toEqual([])
})
