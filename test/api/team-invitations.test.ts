import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import * as team from '../../src/domains/workspace/team/operations.ts'
import { listAuditLog, listWorkspaces, syncEvents } from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { newAddress, signUp, verify } from '../support/people.ts'
import type { Reply } from '../support/send.ts'
import { invitationToken } from '../support/team.ts'
import { World } from '../support/world.ts'

const clock = new ManualClock()
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.member('acme', 'adam', { role: 'admin' })
  await world.member('acme', 'edith', { role: 'editor' })
})
afterAll(() => app?.stop())

const at = (workspace = 'acme') => ({ path: { workspaceId: world.id(workspace) } })
const item = (id: string, workspace = 'acme') => ({ path: { workspaceId: world.id(workspace), id } })

function invite(as: string, body: object, workspace = 'acme'): Promise<Reply> {
  return world.as(as).call(team.inviteMember, { ...at(workspace), body })
}

/** Sends an invitation, and returns it with the token from the mail. */
async function invited(as: string, email: string, body: object = { role: 'contributor' }, workspace = 'acme') {
  const reply = await invite(as, { email, ...body }, workspace)
  expect(reply.status, reply.text).toBe(201)
  return { data: reply.body.data, id: reply.body.data._id as string, token: await invitationToken(app, email) }
}

const accept = (as: string, token: string) => world.as(as).call(team.acceptInvitation, { path: { token } })
const decline = (as: string, token: string) => world.as(as).call(team.declineInvitation, { path: { token } })
const preview = (token: string) => app.send('GET /api/team/invitations/{token}', { path: { token } })
const outcome = ({ status, body }: Reply) => `${status} ${body.code ?? ''}`.trim()

/** The code from the sign-up mail, which may not be the newest mail. */
async function codeOf(address: string): Promise<string> {
  const mail = await app.outbox.newest(address, /is your Crier code/)
  return /\d{6}/.exec(mail.subject ?? '')?.[0] ?? ''
}

let people = 0
/** Creates a user by name, with the address `name@example.com`. */
async function someone(): Promise<{ name: string; email: string }> {
  const { name, email } = await world.user(`guest${(people += 1)}`)
  return { name, email }
}

describe('an invitation', () => {
  test('is mailed, describes its workspace and role, and makes the invited user a member', async () => {
    const { name, email } = await someone()
    const { data, token } = await invited('ada', email.toUpperCase(), { role: 'editor', message: 'Join <us>' })
    const expiresAt = new Date(clock.now() + 7 * DAY).toISOString()
    expect(data).toMatchObject({ email, role: 'editor', roleId: 'editor', status: 'open', expiresAt })
    expect(data.inviter).toMatchObject({ _id: world.id('ada'), name: 'ada' })
    expect(JSON.stringify(data)).not.toContain(token)

    const shown = await preview(token)
    expect(shown.status).toBe(200)
    expect(shown.body.data).toEqual({ workspaceName: 'acme', inviterName: 'ada', role: 'editor', expiresAt })
    const mail = await app.outbox.newest(email, /invites you/)
    expect(mail.subject).toBe('“ada” invites you to “acme” on Crier')
    expect(mail.text).toContain(`/invitations/${token}`)
    expect(mail.html).toContain(`/invitations/${token}`)
    expect(mail.text).toContain('Join <us>')
    expect(mail.html).not.toContain('<us>')

    const accepted = await accept(name, token)
    expect(accepted.status, accepted.text).toBe(200)
    expect(accepted.body.data).toMatchObject({ _id: world.id(name), workspaceId: world.id('acme'), role: 'editor' })
    const mine = await world.as(name).call(listWorkspaces)
    expect(mine.body.data.map((workspace: { name: string }) => workspace.name)).toEqual(['acme'])
    expect((await world.as(name).call(team.listMembers, at())).status).toBe(200)
  })

  test('is stored with a digest of its token only', async () => {
    const { id, token } = await invited('ada', newAddress())
    const row = await app.database.row<{ token_hash: string }>('select * from invitations where id = $1', [id])
    expect(row?.token_hash).toBe(createHash('sha256').update(token).digest('hex'))
    expect(JSON.stringify(row)).not.toContain(token)
    const events = await app.database.rows<{ text: string }>('select data::text as text from workspace_events')
    const audit = await app.database.rows<{ text: string }>('select details::text as text from audit_log')
    expect(JSON.stringify([events, audit, app.logs])).not.toContain(token)
  })

  test('can be accepted only by an account with the confirmed invited address', async () => {
    const { email } = await someone()
    const { id, token } = await invited('ada', email)
    const other = (await someone()).name
    expect(outcome(await accept(other, token))).toBe('403 invitation_for_another')
    expect(outcome(await decline(other, token))).toBe('403 invitation_for_another')
    // Ids are not secret, so the reply must not reveal whether the invitation exists.
    for (const act of [accept, decline]) {
      const [foreign, missing] = [await act(other, id), await act(other, uuidv7(clock.now()))]
      expect(outcome(foreign)).toBe('404 not_found')
      expect(foreign.body.message).toBe(missing.body.message)
    }
    expect(outcome(await world.anonymous().call(team.acceptInvitation, { path: { token } }))).toBe('401 unauthorized')

    const address = newAddress()
    const toStranger = await invited('ada', address)
    const invitee = await signUp(app, address)
    const tries = () =>
      app.send('POST /api/team/invitations/{token}/accept', {
        apiKey: invitee.apiKey,
        path: { token: toStranger.token },
      })
    const list = () => app.send('GET /api/team/invitations/mine', { apiKey: invitee.apiKey })
    expect(outcome(await tries())).toBe('403 email_unverified')
    expect(outcome(await list())).toBe('403 email_unverified')
    await verify(app, address, await codeOf(address))
    expect((await list()).body.data).toHaveLength(1)
    expect(outcome(await tries())).toBe('200')
  })

  test('can be accepted or declined once', async () => {
    const { name, email } = await someone()
    const { token } = await invited('ada', email)
    const replies = await Promise.all(Array.from({ length: 5 }, () => accept(name, token)))
    expect(replies.map(outcome).sort()).toEqual(['200', ...Array.from({ length: 4 }, () => '409 invitation_used')])
    expect(outcome(await decline(name, token))).toBe('409 invitation_used')
    expect(outcome(await preview(token))).toBe('409 invitation_used')

    const second = await someone()
    const declined = await invited('ada', second.email)
    expect(outcome(await decline(second.name, declined.token))).toBe('200')
    expect(outcome(await accept(second.name, declined.token))).toBe('409 invitation_used')
    expect((await world.as(second.name).call(team.listMembers, at())).status).toBe(404)
  })

  test('expires after exactly seven days', async () => {
    const { name, email } = await someone()
    const early = await invited('ada', email)
    clock.advance(7 * DAY - 1)
    expect((await preview(early.token)).status).toBe(200)
    clock.advance(1)
    expect(outcome(await preview(early.token))).toBe('409 invitation_expired')
    expect(outcome(await accept(name, early.token))).toBe('409 invitation_expired')
    const listed = await world.as('ada').call(team.listInvitations, { ...at(), query: { status: 'expired' } })
    expect(listed.body.data.map((row: { _id: string }) => row._id)).toContain(early.id)
    expect((await world.as(name).call(team.listMyInvitations)).body.data).toEqual([])
    // The address can be invited again, and the old link stays invalid.
    const late = await invited('ada', email)
    expect(outcome(await accept(name, early.token))).toBe('409 invitation_expired')
    expect(outcome(await accept(name, late.token))).toBe('200')
  })

  test('is not found if it is unknown or its workspace is deleted', async () => {
    const unknown = 'A'.repeat(43)
    for (const token of [unknown, 'short', '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e71']) {
      expect(outcome(await preview(token)), token).toBe('404 not_found')
      expect(outcome(await accept('edith', token)), token).toBe('404 not_found')
      expect(outcome(await decline('edith', token)), token).toBe('404 not_found')
    }
    const { name, email } = await someone()
    await world.workspace('brief', 'ada')
    const { id, token } = await invited('ada', email, undefined, 'brief')
    expect(outcome(await preview(id)), 'an id is no token').toBe('404 not_found')
    await world.as('ada').call('DELETE /api/workspaces/{workspaceId}', { ...at('brief'), body: { name: 'brief' } })
    expect(outcome(await preview(token))).toBe('404 not_found')
    expect(outcome(await accept(name, token))).toBe('404 not_found')
    expect((await world.as(name).call(team.listMyInvitations)).body.data).toEqual([])
  })

  test('can be listed, accepted and declined by the invited user without the mail', async () => {
    const { name, email } = await someone()
    await invited('ada', email, { role: 'client', message: 'Hello' })
    const mine = await world.as(name).call(team.listMyInvitations)
    expect(mine.body.data).toHaveLength(1)
    expect(mine.body.data[0]).toMatchObject({
      workspaceName: 'acme',
      inviterName: 'ada',
      role: 'client',
      message: 'Hello',
    })
    expect(outcome(await accept(name, mine.body.data[0]._id))).toBe('200')
    expect((await world.as(name).call(team.listMyInvitations)).body.data).toEqual([])
  })

  test('can have exact scopes', async () => {
    const { name, email } = await someone()
    const { data, token } = await invited('ada', email, { role: 'client', scopes: ['team:read', 'streams:read'] })
    expect(data.scopes).toEqual(['streams:read', 'team:read'])
    const { body } = await accept(name, token)
    expect(body.data.scopes).toEqual(['streams:read', 'team:read'])
    expect(body.data.overrides.granted).toEqual(['streams:read'])
    expect(body.data.overrides.revoked).toEqual(['analytics:read', 'media:read', 'posts:approve', 'posts:read'])
  })
})

describe('the inviter', () => {
  test('needs team:manage, and gets 404 for another workspace', async () => {
    await world.workspace('elsewhere', 'olga')
    const { id, token } = await invited('ada', newAddress())
    for (const [who, status] of [
      ['edith', 403],
      ['olga', 404],
    ] as const) {
      expect((await invite(who, { email: newAddress(), role: 'client' })).status, who).toBe(status)
      expect((await world.as(who).call(team.listInvitations, at())).status, who).toBe(status)
      expect((await world.as(who).call(team.revokeInvitation, item(id))).status, who).toBe(status)
      expect((await world.as(who).call(team.resendInvitation, item(id))).status, who).toBe(status)
    }
    // Nor through the inviter's own workspace.
    expect((await world.as('olga').call(team.revokeInvitation, item(id, 'elsewhere'))).status).toBe(404)
    expect((await world.as('olga').call(team.resendInvitation, item(id, 'elsewhere'))).status).toBe(404)
    expect((await preview(token)).status).toBe(200)
  })

  test('cannot offer a scope that they lack, and only owners can invite owners', async () => {
    const email = newAddress()
    const lead = await world.member('acme', 'leon', { scopes: ['team:read', 'team:manage', 'posts:read'] })
    expect(lead.name).toBe('leon')
    expect(outcome(await invite('leon', { email, role: 'editor' }))).toBe('403 cannot_grant')
    expect(outcome(await invite('adam', { email, role: 'owner' }))).toBe('403 owners_only')
    expect(outcome(await invite('adam', { email, role: 'client', scopes: ['billing:manage'] }))).toBe(
      '403 cannot_grant',
    )
    expect(outcome(await invite('ada', { email, role: 'owner', scopes: ['team:read'] }))).toBe('400 validation_failed')
    expect(outcome(await invite('leon', { email, role: 'client' }))).toBe('403 cannot_grant')
    const role = await world
      .as('leon')
      .call(team.createRole, { ...at(), body: { name: 'Reader', scopes: ['posts:read'] } })
    expect(outcome(await invite('leon', { email, roleId: role.body.data._id }))).toBe('201')
  })

  test('must still be able to grant the scopes when the invitation is accepted', async () => {
    const gone = await someone()
    const { name, email } = await someone()
    await world.member('acme', gone.name, { role: 'admin' })
    const { id, token } = await invited(gone.name, email, { role: 'admin' })
    expect(
      (await world.as('ada').call(team.removeMember, { path: { ...at().path, userId: world.id(gone.name) } })).status,
    ).toBe(200)
    expect(outcome(await accept(name, token))).toBe('409 inviter_may_not_grant')
    // After another member with the scopes has resent it, it can be accepted.
    expect(outcome(await world.as('adam').call(team.resendInvitation, item(id)))).toBe('200')
    expect(outcome(await accept(name, await invitationToken(app, email)))).toBe('200')

    const second = await someone()
    await world.member('acme', 'demi', { role: 'admin' })
    const other = await invited('demi', second.email, { role: 'editor' })
    await world.as('ada').call(team.updateMember, {
      path: { ...at().path, userId: world.id('demi') },
      body: { scopes: ['team:read', 'team:manage'] },
    })
    expect(outcome(await accept(second.name, other.token))).toBe('409 inviter_may_not_grant')
  })

  test('must name exactly one existing role', async () => {
    const email = newAddress()
    for (const body of [{}, { role: 'pope' }, { roleId: world.id('ada') }, { role: 'editor', roleId: 'client' }]) {
      const reply = await invite('ada', { email, ...body })
      expect(outcome(reply), JSON.stringify(body)).toBe('400 validation_failed')
      expect(reply.body.errors[0].path).toMatch(/^\/body\/role/)
    }
  })

  test('cannot invite a member, or an address that has an open invitation', async () => {
    const { email } = await world.user('edith')
    expect(outcome(await invite('ada', { email: email.toUpperCase(), role: 'client' }))).toBe('409 already_member')
    const address = newAddress()
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => invite('ada', { email: address, role: 'client' })),
    )
    expect(replies.map(outcome).sort()).toEqual(['201', ...Array.from({ length: 3 }, () => '409 already_invited')])
    const made = replies.find((reply) => reply.status === 201)
    const refused = replies.find((reply) => reply.status === 409)
    expect(refused?.body.details).toEqual({ invitationId: made?.body.data._id })
    await invitationToken(app, address)
    expect(await app.outbox.mails(address)).toHaveLength(1)
  })

  test('can revoke an invitation once, and its link stops working', async () => {
    const { name, email } = await someone()
    const { id, token } = await invited('ada', email)
    expect(outcome(await world.as('adam').call(team.revokeInvitation, item(id)))).toBe('200')
    expect(outcome(await preview(token))).toBe('409 invitation_revoked')
    expect(outcome(await accept(name, token))).toBe('409 invitation_revoked')
    expect(outcome(await world.as('adam').call(team.revokeInvitation, item(id)))).toBe('409 conflict')
    expect(outcome(await world.as('adam').call(team.resendInvitation, item(id)))).toBe('409 conflict')
    const open = await world.as('ada').call(team.listInvitations, at())
    expect(open.body.data.map((row: { _id: string }) => row._id)).not.toContain(id)
    const again = await invited('ada', email)
    expect(outcome(await accept(name, again.token))).toBe('200')
  })

  test('can resend an invitation with a new link for seven days, and the old link stops working', async () => {
    const { name, email } = await someone()
    const { id, token } = await invited('ada', email)
    clock.advance(6 * DAY)
    const resent = await world.as('adam').call(team.resendInvitation, item(id))
    expect(resent.status).toBe(200)
    expect(resent.body.data).toMatchObject({ status: 'open', inviter: { name: 'adam' } })
    expect(resent.body.data.expiresAt).toBe(new Date(clock.now() + 7 * DAY).toISOString())
    const newToken = await invitationToken(app, email)
    expect(newToken).not.toBe(token)
    expect(outcome(await accept(name, token))).toBe('404 not_found')
    clock.advance(8 * DAY)
    expect(outcome(await accept(name, newToken))).toBe('409 invitation_expired')
    expect(outcome(await world.as('ada').call(team.resendInvitation, item(id)))).toBe('200')
    expect(outcome(await accept(name, await invitationToken(app, email)))).toBe('200')
  })

  test('cannot revoke an invitation with scopes that they lack, unless they sent it', async () => {
    await world.member('acme', 'tina', { scopes: ['team:read', 'team:manage'] })
    const revoke = (as: string, id: string) => world.as(as).call(team.revokeInvitation, item(id))
    const admin = await invited('ada', newAddress(), { role: 'admin' })
    const owner = await invited('ada', newAddress(), { role: 'owner' })
    expect(outcome(await revoke('tina', admin.id))).toBe('403 outranked')
    expect(outcome(await revoke('adam', owner.id))).toBe('403 owners_only')
    expect(outcome(await revoke('adam', admin.id))).toBe('200')
    expect(outcome(await revoke('ada', owner.id))).toBe('200')
    await world.user('ivy')
    await world.member('acme', 'ivy', { role: 'admin' })
    const own = await invited('ivy', newAddress(), { role: 'admin' })
    await world.member('acme', 'ivy', { scopes: ['team:manage'] })
    expect(outcome(await revoke('ivy', own.id))).toBe('200')
  })

  test('can list invitations in pages', async () => {
    await world.workspace('paged', 'ada')
    const ids: string[] = []
    for (let count = 0; count < 5; count += 1) ids.unshift((await invited('ada', newAddress(), undefined, 'paged')).id)
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await world.as('ada').call(team.listInvitations, { ...at('paged'), query: { limit: 2, cursor } })
      seen.push(...page.body.data.map((row: { _id: string }) => row._id))
      cursor = page.body.pagination.nextCursor ?? undefined
    } while (cursor)
    expect(seen).toEqual(ids)
  })
})

describe('seats', () => {
  test('are used by members and open invitations, even with concurrent requests', async () => {
    await world.workspace('small', 'fred')
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => invite('fred', { email: newAddress(), role: 'client' }, 'small')),
    )
    expect(replies.map(outcome).sort()).toEqual([
      ...Array.from({ length: 4 }, () => '201'),
      ...Array.from({ length: 4 }, () => '402 plan_limit_reached'),
    ])
    const refused = replies.find((reply) => reply.status === 402)
    expect(refused?.body.details).toEqual({
      limit: 'members',
      value: 5,
      used: 5,
      plan: 'free',
      nextPlan: 'starter',
      isTrial: false,
    })
    // A revoked or expired invitation frees its seat. Resending an expired one needs a seat.
    const [first, second] = replies.filter((reply) => reply.status === 201).map((reply) => reply.body.data._id)
    await world.as('fred').call(team.revokeInvitation, item(first, 'small'))
    expect(outcome(await invite('fred', { email: newAddress(), role: 'client' }, 'small'))).toBe('201')
    expect(outcome(await invite('fred', { email: newAddress(), role: 'client' }, 'small'))).toBe(
      '402 plan_limit_reached',
    )
    clock.advance(8 * DAY)
    for (let count = 0; count < 4; count += 1) {
      expect(outcome(await invite('fred', { email: newAddress(), role: 'client' }, 'small'))).toBe('201')
    }
    expect(outcome(await world.as('fred').call(team.resendInvitation, item(second, 'small')))).toBe(
      '402 plan_limit_reached',
    )
  })

  test('are checked again when an invitation is accepted', async () => {
    await world.user('gina', { plan: 'starter' })
    await world.workspace('shrunk', 'gina')
    const { name, email } = await someone()
    const { token } = await invited('gina', email, undefined, 'shrunk')
    for (const member of ['m1', 'm2', 'm3', 'm4']) await world.member('shrunk', member, { role: 'client' })
    await app.composition.services.plans.change(world.id('gina'), 'free')
    expect(outcome(await accept(name, token))).toBe('402 plan_limit_reached')
    await app.composition.services.plans.change(world.id('gina'), 'starter')
    expect(outcome(await accept(name, token))).toBe('200')
  })
})

test('the audit log and the events contain every change, without tokens', async () => {
  await world.workspace('audited', 'ada')
  const { name, email } = await someone()
  const first = await invited('ada', email, { role: 'editor' }, 'audited')
  await world.as('ada').call(team.resendInvitation, item(first.id, 'audited'))
  await accept(name, await invitationToken(app, email))
  const second = await someone()
  await decline(second.name, (await invited('ada', second.email, undefined, 'audited')).token)
  await world
    .as('ada')
    .call(team.revokeInvitation, item((await invited('ada', newAddress(), undefined, 'audited')).id, 'audited'))

  const log = await world.as('ada').call(listAuditLog, at('audited'))
  const entries = log.body.data
    .toReversed()
    .map(
      (entry: { action: string; actor: { name: string }; target: { kind: string } }) =>
        `${entry.action} by ${entry.actor.name} on ${entry.target.kind}`,
    )
  expect(entries).toEqual([
    'createWorkspace by ada on workspace',
    'inviteMember by ada on invitation',
    'resendInvitation by ada on invitation',
    `acceptInvitation by ${name} on invitation`,
    `acceptInvitation by ${name} on member`,
    'inviteMember by ada on invitation',
    `declineInvitation by ${second.name} on invitation`,
    'inviteMember by ada on invitation',
    'revokeInvitation by ada on invitation',
  ])
  const invitedEntry = log.body.data.find((entry: { action: string }) => entry.action === 'resendInvitation')
  expect(invitedEntry.target._id).toBe(first.id)
  expect(invitedEntry.details).toMatchObject({ email, role: 'editor' })
  const { body } = await world.as('ada').call(syncEvents, at('audited'))
  expect(body.data.events.map((event: { type: string }) => event.type)).toEqual([
    'invitation.created',
    'invitation.resent',
    'invitation.accepted',
    'member.added',
    'invitation.created',
    'invitation.declined',
    'invitation.created',
    'invitation.revoked',
  ])
  // Members without team:manage see the new member, but no events of invitations.
  const forMember = await world.as(name).call(syncEvents, at('audited'))
  expect(forMember.body.data.events.map((event: { type: string }) => event.type)).toEqual(['member.added'])
})
