import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock, MINUTE } from '../../src/core/clock.ts'
import { getWorkspace, updateWorkspace } from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { codeOf, turnOnSecondFactor } from '../support/authenticator.ts'
import { QUICK } from '../support/jobs.ts'
import { registerPasskey } from '../support/passkey.ts'
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
  app = await startApp({ clock, jobTimes: QUICK })
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

/** Another member of the workspace. */
async function newMember(): Promise<SignedInPerson> {
  const person = await signIn(app)
  await app.database.run(
    `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at) values ($1, $2, 'admin', now(), now())`,
    [workspaceId, person.id],
  )
  return person
}

test('sockets of members without it leave the rooms of the workspace at the time, and come back with a factor', async () => {
  const late = await newMember()
  const [seen, unseen] = [await sockets.connect(owner.apiKey), await sockets.connect(late.apiKey)]
  let renamed = 0
  /** Whether the member gets an event that the owner gets. Events of one workspace arrive in order. */
  const hears = async () => {
    renamed += 1
    const name = `name ${renamed}`
    const isIt = ({ data }: { readonly data?: { data?: { name?: string } } }) => data?.data?.name === name
    await app.send(updateWorkspace.route, { apiKey: owner.apiKey, path: { workspaceId }, body: { name } })
    await waitFor(() => seen.events.some(isIt))
    return unseen.events.some(isIt)
  }
  expect(await hears()).toBe(false)
  expect((await require(owner, null)).body.data.secondFactorRequiredAt).toBeNull()
  await waitFor(hears, { what: 'the member to hear of a workspace that requires nothing' })

  await require(owner, clock.now() + MINUTE)
  expect(await hears()).toBe(true)
  clock.advance(MINUTE + 2_000)
  await waitFor(async () => !(await hears()), { what: 'the member to have left the rooms' })
  // Members that were read before the time are not used any more.
  expect(codeIn(await read(late))).toBe('403 second_factor_needed')

  const { secret } = await turnOnSecondFactor(app, late)
  await waitFor(hears, { what: 'the member with a second factor to hear of changes' })
  clock.advance(MINUTE)
  const body = { password: late.password, code: codeOf(secret, clock.now()) }
  const off = await app.send('DELETE /api/auth/totp', { apiKey: late.apiKey, body })
  expect(off.status, off.text).toBe(200)
  await waitFor(async () => !(await hears()), { what: 'the member without a second factor to have left' })
})

test('a session that began with a passkey needs no other factor; other credentials of the account do', async () => {
  const person = await newMember()
  await require(owner, clock.now())
  const { authenticator } = await registerPasskey(app, person)
  const { options } = (await app.send('POST /api/auth/passkeys/sign-in/options')).body.data
  const response = authenticator.get(options)
  const { accessToken } = (await app.send('POST /api/auth/passkeys/sign-in', { body: { response } })).body.data
  const withToken = (token: string) => app.send(getWorkspace.route, { token, path: { workspaceId } })
  expect((await withToken(accessToken)).status).toBe(200)
  expect(codeIn(await withToken(person.accessToken))).toBe('403 second_factor_needed')
  expect(codeIn(await read(person))).toBe('403 second_factor_needed')
})
