import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { getWorkspace, updateWorkspace } from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { turnOnSecondFactor } from '../support/authenticator.ts'
import { signIn, type SignedInPerson } from '../support/people.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

/** A workspace that requires a second factor of its members. */

let app: App
let owner: SignedInPerson
let member: SignedInPerson
let workspaceId: string
const clock = new ManualClock(new Date().getTime())
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ clock })
  ;[owner, member] = await Promise.all([signIn(app), signIn(app)])
  const body = { name: 'acme', timezone: 'UTC' }
  workspaceId = (await app.send('POST /api/workspaces', { apiKey: owner.apiKey, body })).body.data._id
  const { _id: userId } = (await app.send('GET /api/users/me', { apiKey: member.apiKey })).body.data ?? {}
  await app.database.run(
    `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at) values ($1, $2, 'admin', now(), now())`,
    [workspaceId, userId],
  )
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

const read = ({ apiKey }: SignedInPerson) => app.send(getWorkspace.route, { apiKey, path: { workspaceId } })
const require = ({ apiKey }: SignedInPerson, at: number | null) =>
  app.send(updateWorkspace.route, {
    apiKey,
    path: { workspaceId },
    body: { secondFactorRequiredAt: at === null ? null : new Date(at).toISOString() },
  })
const codeIn = ({ body, status }: { readonly body: { readonly code?: string }; readonly status: number }) =>
  `${status} ${body.code ?? ''}`.trim()

test('members without a second factor are refused from the time that an owner sets, until they have one', async () => {
  expect(codeIn(await require(member, clock.now()))).toBe('403 forbidden')
  const lockedOut = await require(owner, clock.now())
  expect([codeIn(lockedOut), lockedOut.body.message]).toEqual(['409 conflict', expect.stringContaining('your own')])
  await turnOnSecondFactor(app, owner)
  expect((await require(owner, clock.now() + 91 * DAY)).body).toMatchObject({
    code: 'validation_failed',
    errors: [{ path: '/body/secondFactorRequiredAt', code: 'too_late' }],
  })

  const at = clock.now() + DAY
  expect((await require(owner, at)).body.data.secondFactorRequiredAt).toBe(new Date(at).toISOString())
  // The time of grace: everything works, and the workspace says until when.
  expect((await read(member)).body.data.secondFactorRequiredAt).toBe(new Date(at).toISOString())
  clock.advance(DAY + MINUTE)
  const refused = await read(member)
  expect(codeIn(refused)).toBe('403 second_factor_needed')
  expect(refused.body.message).toContain('POST /api/auth/totp')
  expect((await read(owner)).status).toBe(200)
  const change = { apiKey: member.apiKey, path: { workspaceId }, body: { name: 'changed' } }
  expect(codeIn(await app.send(updateWorkspace.route, change))).toBe('403 second_factor_needed')
  // What the member needs to comply is not in the workspace.
  expect((await app.send('GET /api/workspaces', { apiKey: member.apiKey })).status).toBe(200)
  await turnOnSecondFactor(app, member)
  expect((await read(member)).status).toBe(200)

  const { body } = await app.send('GET /api/workspaces/{workspaceId}/audit-log', {
    apiKey: owner.apiKey,
    path: { workspaceId },
  })
  expect(body.data[0]).toMatchObject({
    action: 'updateWorkspace',
    details: { changed: ['secondFactorRequiredAt'] },
  })
})

test('sockets of members without it get no events of the workspace', async () => {
  const { _id: userId, ...late } = await signIn(app).then(async (person) => ({
    ...person,
    ...(await app.send('GET /api/users/me', { apiKey: person.apiKey })).body.data,
  }))
  await app.database.run(
    `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at) values ($1, $2, 'admin', now(), now())`,
    [workspaceId, userId],
  )
  const [seen, unseen] = [await sockets.connect(owner.apiKey), await sockets.connect(late.apiKey as string)]
  const rename = (name: string) =>
    app.send(updateWorkspace.route, { apiKey: owner.apiKey, path: { workspaceId }, body: { name } })
  await rename('first')
  await waitFor(() => seen.events.some(({ data }) => data?.data?.name === 'first'))
  expect(unseen.events.filter(({ name }) => name === 'workspace.updated')).toEqual([])
  expect((await require(owner, null)).body.data.secondFactorRequiredAt).toBeNull()
  await rename('second')
  await waitFor(() => unseen.events.some(({ data }) => data?.data?.name === 'second'))
})
