import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BUILT_IN_ROLES } from '../../src/core/scope.ts'
import * as team from '../../src/domains/workspace/team/operations.ts'
import { getWorkspace, listAuditLog, syncEvents } from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { newAddress } from '../support/people.ts'
import type { Reply, SendOptions } from '../support/send.ts'
import { invitationToken } from '../support/team.ts'
import { World } from '../support/world.ts'

let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.member('acme', 'adam', { role: 'admin' })
  await world.member('acme', 'edith', { role: 'editor' })
  await world.member('acme', 'lena', { scopes: ['team:read', 'team:manage', 'posts:read'] })
  await world.workspace('elsewhere', 'olga')
})
afterAll(() => app?.stop())

const at = (workspace = 'acme') => ({ path: { workspaceId: world.id(workspace) } })
const item = (id: string, workspace = 'acme') => ({ path: { workspaceId: world.id(workspace), id } })
const outcome = ({ status, body }: Reply) => `${status} ${body.code ?? ''}`.trim()

let count = 0
const newName = (kind: string) => `${kind} ${(count += 1)}`

const createRole = (as: string, body: object, workspace = 'acme') =>
  world.as(as).call(team.createRole, { ...at(workspace), body })
const updateRole = (as: string, id: string, body: object, more: SendOptions = {}) =>
  world.as(as).call(team.updateRole, { ...item(id), body, ...more })
const deleteRole = (as: string, id: string, query: object = {}) =>
  world.as(as).call(team.deleteRole, { ...item(id), query: { ...query } })
const createGroup = (as: string, body: object) => world.as(as).call(team.createGroup, { ...at(), body })
const updateGroup = (as: string, id: string, body: object, more: SendOptions = {}) =>
  world.as(as).call(team.updateGroup, { ...item(id), body, ...more })
const changeMember = (as: string, user: string, body: object) =>
  world.as(as).call(team.updateMember, { path: { ...at().path, userId: world.id(user) }, body })

async function newRole(scopes: readonly string[]): Promise<string> {
  const { body, status, text } = await createRole('ada', { name: newName('Role'), scopes })
  expect(status, text).toBe(201)
  return body.data._id
}

/** Creates a member with a role. @returns the user id */
async function holder(roleId: string): Promise<string> {
  const name = newName('holder').replace(' ', '')
  await world.member('acme', name, { role: 'client' })
  expect(outcome(await changeMember('ada', name, { roleId }))).toBe('200')
  return name
}

async function scopesOf(user: string): Promise<string[]> {
  return (await world.as(user).call(getWorkspace, at())).body.data.scopes
}

describe('roles', () => {
  test('are built in or created by the workspace', async () => {
    await world.workspace('fresh', 'ada')
    const made = await createRole('ada', { name: 'Moderator', scopes: ['team:read', 'chat:read'] }, 'fresh')
    expect(made.status, made.text).toBe(201)
    expect(made.headers.get('etag')).toBe('"1"')
    expect(made.body.data).toMatchObject({ name: 'Moderator', builtIn: false, scopes: ['chat:read', 'team:read'] })
    const { body } = await world.as('ada').call(team.listRoles, at('fresh'))
    expect(body.data.map((role: { _id: string; name: string }) => [role._id, role.name])).toEqual([
      ...Object.keys(BUILT_IN_ROLES).map((name) => [name, name]),
      [made.body.data._id, 'Moderator'],
    ])
    expect(body.data[0]).toMatchObject({ name: 'owner', builtIn: true, memberCount: 1 })
    expect(body.data[1]).toMatchObject({ name: 'admin', memberCount: 0, scopes: BUILT_IN_ROLES.admin })
  })

  test('have unique names, ignoring case', async () => {
    const name = newName('Chief')
    expect(outcome(await createRole('ada', { name, scopes: [] }))).toBe('201')
    expect(outcome(await createRole('ada', { name: name.toUpperCase(), scopes: [] }))).toBe('409 name_taken')
    expect(outcome(await createRole('ada', { name: 'Owner', scopes: [] }))).toBe('409 name_taken')
    const other = await newRole([])
    expect(outcome(await updateRole('ada', other, { name }))).toBe('409 name_taken')
    expect(outcome(await updateRole('ada', other, { name: 'ADMIN' }))).toBe('409 name_taken')
    const same = newName('Same')
    const replies = await Promise.all(Array.from({ length: 4 }, () => createRole('ada', { name: same, scopes: [] })))
    expect(replies.map(outcome).sort()).toEqual(['201', '409 name_taken', '409 name_taken', '409 name_taken'])
  })

  test('cannot be changed or deleted if they are built in', async () => {
    for (const id of Object.keys(BUILT_IN_ROLES)) {
      expect(outcome(await updateRole('ada', id, { scopes: [] })), id).toBe('409 built_in_role')
      expect(outcome(await deleteRole('ada', id, { replaceWith: 'client' })), id).toBe('409 built_in_role')
    }
  })

  test('cannot get a scope that the caller lacks, or be changed if they have one', async () => {
    expect(outcome(await createRole('adam', { name: newName('Rich'), scopes: ['billing:manage'] }))).toBe(
      '403 cannot_grant',
    )
    const id = await newRole(['posts:read'])
    const user = await holder(id)
    expect(outcome(await updateRole('lena', id, { scopes: ['posts:read', 'ai:use'] }))).toBe('403 cannot_grant')
    expect(outcome(await updateRole('lena', id, { scopes: ['posts:read', 'team:read'] }))).toBe('200')
    expect(await scopesOf(user)).toEqual(['posts:read', 'team:read'])
    const richer = await newRole(['posts:read', 'posts:write'])
    for (const body of [{ scopes: ['posts:read'] }, { scopes: [] }, { name: newName('Role') }]) {
      expect(outcome(await updateRole('lena', richer, body)), JSON.stringify(body)).toBe('403 outranked')
    }
    expect(outcome(await deleteRole('lena', richer))).toBe('403 outranked')
    expect(outcome(await deleteRole('lena', richer, { replaceWith: id }))).toBe('403 outranked')
  })

  test('cannot be changed so that members with more scopes than the caller are affected', async () => {
    const id = await newRole(['team:read', 'posts:read'])
    const user = await holder(id)
    await world.as('ada').call(team.createGroup, {
      ...at(),
      body: { name: newName('G'), memberIds: [world.id(user)], scopes: ['streams:manage'] },
    })
    const before = await scopesOf(user)
    const less = await newRole(['team:read'])
    const refused = await updateRole('lena', id, { scopes: ['team:read'] })
    expect(outcome(refused)).toBe('403 outranked')
    expect(refused.body.message).toContain('streams:manage')
    expect(outcome(await deleteRole('lena', id, { replaceWith: less }))).toBe('403 outranked')
    expect(await scopesOf(user)).toEqual(before)
    // A new name changes no scopes.
    expect(outcome(await updateRole('lena', id, { name: newName('Role') }))).toBe('200')
    expect(outcome(await updateRole('adam', id, { scopes: ['team:read'] }))).toBe('200')
  })

  test('take effect on all members with the role at once', async () => {
    const id = await newRole(['team:read'])
    const user = await holder(id)
    expect(await scopesOf(user)).toEqual(['team:read'])
    const changed = await updateRole('adam', id, { scopes: ['team:read', 'chat:read'] })
    expect(changed.body.data).toMatchObject({ version: 2, memberCount: 1 })
    expect(await scopesOf(user)).toEqual(['chat:read', 'team:read'])
    await updateRole('adam', id, { scopes: [] })
    expect((await world.as(user).call(getWorkspace, at())).status).toBe(403)
  })

  test('honor If-Match', async () => {
    const id = await newRole([])
    const ifMatch = (tag: string) => ({ headers: { 'If-Match': tag } })
    expect(outcome(await updateRole('ada', id, { name: newName('Role') }, ifMatch('"1"')))).toBe('200')
    expect(outcome(await updateRole('ada', id, { scopes: [] }, ifMatch('"1"')))).toBe('412 precondition_failed')
    const stale = await world.as('ada').call(team.deleteRole, { ...item(id), ...ifMatch('"1"') })
    expect(outcome(stale)).toBe('412 precondition_failed')
    expect(outcome(await world.as('ada').call(team.deleteRole, { ...item(id), ...ifMatch('"2"') }))).toBe('200')
  })

  test('in use by members or open invitations can be deleted only with a replacement', async () => {
    const id = await newRole(['team:read', 'posts:read'])
    const user = await holder(id)
    const email = newAddress()
    await world.as('ada').call(team.inviteMember, { ...at(), body: { email, roleId: id } })
    await invitationToken(app, email)
    const used = await deleteRole('ada', id)
    expect(outcome(used)).toBe('409 role_in_use')
    expect(used.body.details).toEqual({ members: 1, invitations: 1 })
    expect(outcome(await deleteRole('ada', id, { replaceWith: id }))).toBe('400 validation_failed')
    expect(outcome(await deleteRole('ada', id, { replaceWith: world.id('ada') }))).toBe('400 validation_failed')
    expect(outcome(await deleteRole('lena', id, { replaceWith: 'editor' }))).toBe('403 cannot_grant')
    expect(outcome(await deleteRole('adam', id, { replaceWith: 'owner' }))).toBe('403 owners_only')
    expect(outcome(await deleteRole('adam', id, { replaceWith: 'contributor' }))).toBe('200')
    expect(await scopesOf(user)).toEqual([...BUILT_IN_ROLES.contributor].sort())
    const invitations = await world.as('ada').call(team.listInvitations, at())
    expect(invitations.body.data.find((row: { email: string }) => row.email === email)).toMatchObject({
      role: 'contributor',
    })
    expect(outcome(await deleteRole('ada', id))).toBe('404 not_found')
  })

  test('in use by closed invitations only can be deleted, and those lose the role', async () => {
    const id = await newRole(['team:read'])
    const email = newAddress()
    const invited = await world.as('ada').call(team.inviteMember, { ...at(), body: { email, roleId: id } })
    await world.as('ada').call(team.revokeInvitation, item(invited.body.data._id))
    expect(outcome(await deleteRole('ada', id))).toBe('200')
    const revoked = await world.as('ada').call(team.listInvitations, { ...at(), query: { status: 'revoked' } })
    expect(revoked.body.data.find((row: { email: string }) => row.email === email)).toMatchObject({ role: null })
  })

  test('of another workspace are not found', async () => {
    const id = await newRole([])
    expect(outcome(await world.as('olga').call(team.listRoles, at()))).toBe('404 not_found')
    expect(outcome(await createRole('olga', { name: 'Spy', scopes: [] }))).toBe('404 not_found')
    expect(outcome(await updateRole('olga', id, { name: 'Spy' }))).toBe('404 not_found')
    const asOwn = item(id, 'elsewhere')
    expect(outcome(await world.as('olga').call(team.updateRole, { ...asOwn, body: { name: 'Spy' } }))).toBe(
      '404 not_found',
    )
    expect(outcome(await world.as('olga').call(team.deleteRole, asOwn))).toBe('404 not_found')
    const stolen = await world.as('olga').call(team.inviteMember, {
      ...at('elsewhere'),
      body: { email: newAddress(), roleId: id },
    })
    expect(outcome(stolen)).toBe('400 validation_failed')
    expect(outcome(await createRole('edith', { name: 'Own', scopes: [] }))).toBe('403 forbidden')
    expect(outcome(await updateRole('edith', id, { scopes: [] }))).toBe('403 forbidden')
    expect(outcome(await deleteRole('edith', id))).toBe('403 forbidden')
  })

  test('are limited to fifty per workspace', async () => {
    await world.workspace('full', 'ada')
    const many = await Promise.all(
      Array.from({ length: 30 }, (_, index) => createRole('ada', { name: `R${index}`, scopes: [] }, 'full')),
    )
    const rest = await Promise.all(
      Array.from({ length: 30 }, (_, index) => createRole('ada', { name: `S${index}`, scopes: [] }, 'full')),
    )
    expect([...many, ...rest].filter((reply) => reply.status === 201)).toHaveLength(50)
    expect([...many, ...rest].filter((reply) => outcome(reply) === '402 plan_limit_reached')).toHaveLength(10)
  })
})

describe('groups', () => {
  test('give their members additional scopes, until they are changed or deleted', async () => {
    await world.member('acme', 'greta', { role: 'client' })
    const made = await createGroup('adam', {
      name: newName('On air'),
      memberIds: [world.id('greta')],
      scopes: ['streams:manage'],
    })
    expect(made.status, made.text).toBe(201)
    const id: string = made.body.data._id
    expect(await scopesOf('greta')).toContain('streams:manage')
    const got = await world.as('edith').call(team.getGroup, item(id))
    expect(got.body.data).toMatchObject({ _id: id, memberIds: [world.id('greta')], scopes: ['streams:manage'] })
    expect(got.headers.get('etag')).toBe('"1"')
    await updateGroup('adam', id, { scopes: ['ai:use'] })
    expect(await scopesOf('greta')).not.toContain('streams:manage')
    expect(await scopesOf('greta')).toContain('ai:use')
    await updateGroup('adam', id, { memberIds: [world.id('edith')] })
    expect(await scopesOf('greta')).not.toContain('ai:use')
    await updateGroup('adam', id, { memberIds: [world.id('greta'), world.id('edith')] })
    const listed = await world.as('edith').call(team.listMembers, { ...at(), query: { q: 'greta' } })
    expect(listed.body.data[0].groups).toEqual([{ _id: id, name: made.body.data.name }])
    expect(outcome(await world.as('adam').call(team.deleteGroup, item(id)))).toBe('200')
    expect(await scopesOf('greta')).toEqual([...BUILT_IN_ROLES.client].sort())
    expect(outcome(await world.as('adam').call(team.getGroup, item(id)))).toBe('404 not_found')
  })

  test('cannot get a scope that the caller lacks, or give one to a new member', async () => {
    const outsider = world.id('edith')
    const scopes = ['billing:manage']
    expect(outcome(await createGroup('adam', { name: newName('G'), memberIds: [], scopes }))).toBe('403 cannot_grant')
    const rich = await createGroup('ada', { name: newName('G'), memberIds: [], scopes })
    const id: string = rich.body.data._id
    for (const body of [{ memberIds: [world.id('adam')] }, { memberIds: [outsider] }, { name: newName('G') }]) {
      expect(outcome(await updateGroup('adam', id, body)), JSON.stringify(body)).toBe('403 outranked')
    }
    expect(outcome(await updateGroup('adam', id, { memberIds: [outsider], scopes: ['ai:use'] }))).toBe('403 outranked')
    expect(outcome(await world.as('adam').call(team.deleteGroup, item(id)))).toBe('403 outranked')
    expect(outcome(await updateGroup('ada', id, { scopes: ['posts:read'] }))).toBe('200')
    expect(outcome(await updateGroup('lena', id, { scopes: ['posts:read', 'billing:manage'] }))).toBe(
      '403 cannot_grant',
    )
  })

  test('cannot be changed so that members with more scopes than the caller are affected', async () => {
    const client = newName('client').replace(' ', '')
    await world.member('acme', client, { scopes: ['team:read', 'streams:manage'] })
    const memberIds = [world.id('edith'), world.id(client)]
    const { body } = await createGroup('ada', { name: newName('G'), memberIds, scopes: ['posts:read'] })
    const id: string = body.data._id
    // edith also has posts:read from her role, so leaving the group does not affect her. The client would lose the scope.
    expect(outcome(await updateGroup('lena', id, { memberIds: [world.id(client)] }))).toBe('200')
    expect(outcome(await updateGroup('lena', id, { memberIds: [] }))).toBe('403 outranked')
    expect(outcome(await updateGroup('lena', id, { scopes: [] }))).toBe('403 outranked')
    expect(outcome(await world.as('lena').call(team.deleteGroup, item(id)))).toBe('403 outranked')
    expect(await scopesOf(client)).toContain('posts:read')
    // With another group that has the same scope, nothing changes.
    await createGroup('ada', { name: newName('G'), memberIds: [world.id(client)], scopes: ['posts:read'] })
    expect(outcome(await updateGroup('lena', id, { memberIds: [] }))).toBe('200')
    const more = { name: newName('G'), memberIds: [world.id(client)], scopes: ['team:manage'] }
    expect(outcome(await createGroup('lena', more))).toBe('403 outranked')
  })

  test('can contain members only, and have unique names', async () => {
    const name = newName('Group')
    const reply = await createGroup('ada', { name, memberIds: [world.id('edith'), world.id('olga')] })
    expect(outcome(reply)).toBe('400 validation_failed')
    expect(reply.body.errors).toEqual([
      { path: '/body/memberIds/1', code: 'no_member', message: 'must be a member of the workspace' },
    ])
    expect(outcome(await createGroup('ada', { name, memberIds: [] }))).toBe('201')
    expect(outcome(await createGroup('ada', { name: name.toUpperCase(), memberIds: [] }))).toBe('409 name_taken')
    const twice = [world.id('edith'), world.id('edith')]
    expect(outcome(await createGroup('ada', { name: newName('G'), memberIds: twice }))).toBe('400 validation_failed')
  })

  test('honor If-Match', async () => {
    const { body } = await createGroup('ada', { name: newName('Group'), memberIds: [] })
    const id: string = body.data._id
    const ifMatch = (tag: string) => ({ headers: { 'If-Match': tag } })
    expect(outcome(await updateGroup('ada', id, { scopes: ['ai:use'] }, ifMatch('"1"')))).toBe('200')
    expect(outcome(await updateGroup('ada', id, { scopes: [] }, ifMatch('"1"')))).toBe('412 precondition_failed')
    const stale = await world.as('ada').call(team.deleteGroup, { ...item(id), ...ifMatch('"1"') })
    expect(outcome(stale)).toBe('412 precondition_failed')
  })

  test('of another workspace are not found', async () => {
    const { body } = await createGroup('ada', { name: newName('Group'), memberIds: [] })
    const id: string = body.data._id
    const olga = world.as('olga')
    for (const place of [item(id), item(id, 'elsewhere')]) {
      expect(outcome(await olga.call(team.getGroup, place))).toBe('404 not_found')
      expect(outcome(await olga.call(team.updateGroup, { ...place, body: { name: 'Spies' } }))).toBe('404 not_found')
      expect(outcome(await olga.call(team.deleteGroup, place))).toBe('404 not_found')
    }
    expect(outcome(await olga.call(team.listGroups, at()))).toBe('404 not_found')
    expect((await olga.call(team.listGroups, at('elsewhere'))).body.data).toEqual([])
    expect(outcome(await createGroup('edith', { name: 'Own', memberIds: [] }))).toBe('403 forbidden')
    expect(outcome(await world.as('edith').call(team.deleteGroup, item(id)))).toBe('403 forbidden')
  })

  test('are listed in pages', async () => {
    const ids: string[] = []
    for (let made = 0; made < 3; made += 1) {
      ids.unshift((await createGroup('ada', { name: newName('Page'), memberIds: [] })).body.data._id)
    }
    const first = await world.as('edith').call(team.listGroups, { ...at(), query: { limit: 2 } })
    const cursor: string = first.body.pagination.nextCursor
    const second = await world.as('edith').call(team.listGroups, { ...at(), query: { limit: 1, cursor } })
    const seen = [...first.body.data, ...second.body.data].map((group: { _id: string }) => group._id)
    expect(seen).toEqual(ids)
  })
})

test('the audit log and the events contain every change of roles and groups', async () => {
  await world.workspace('audited', 'ada')
  const ada = world.as('ada')
  const role = await createRole('ada', { name: 'Role', scopes: ['ai:use'] }, 'audited')
  const roleId: string = role.body.data._id
  await ada.call(team.updateRole, { ...item(roleId, 'audited'), body: { name: 'Other' } })
  await ada.call(team.deleteRole, item(roleId, 'audited'))
  const group = await ada.call(team.createGroup, { ...at('audited'), body: { name: 'Group', memberIds: [] } })
  const groupId: string = group.body.data._id
  await ada.call(team.updateGroup, { ...item(groupId, 'audited'), body: { memberIds: [world.id('ada')] } })
  await ada.call(team.deleteGroup, item(groupId, 'audited'))
  const { body } = await ada.call(listAuditLog, at('audited'))
  const entries = body.data.toReversed().slice(1) as { action: string; target: object; details: object }[]
  expect(entries.map(({ action, target, details }) => [action, target, details])).toEqual([
    ['createRole', { kind: 'role', _id: roleId }, { name: 'Role', scopes: ['ai:use'] }],
    [
      'updateRole',
      { kind: 'role', _id: roleId },
      { name: { from: 'Role', to: 'Other' }, scopes: { from: ['ai:use'], to: ['ai:use'] } },
    ],
    ['deleteRole', { kind: 'role', _id: roleId }, { name: 'Other', scopes: ['ai:use'], replacementRoleId: null }],
    ['createGroup', { kind: 'group', _id: groupId }, { name: 'Group', scopes: [], memberIds: [] }],
    [
      'updateGroup',
      { kind: 'group', _id: groupId },
      expect.objectContaining({ joined: [world.id('ada')], left: [], name: { from: 'Group', to: 'Group' } }),
    ],
    ['deleteGroup', { kind: 'group', _id: groupId }, { name: 'Group', scopes: [], memberIds: [world.id('ada')] }],
  ])
  const events = await ada.call(syncEvents, at('audited'))
  expect(events.body.data.events.map((event: { type: string }) => event.type)).toEqual([
    'role.created',
    'role.updated',
    'role.deleted',
    'group.created',
    'group.updated',
    'group.deleted',
  ])
})
