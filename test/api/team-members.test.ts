import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ALL_SCOPES, BUILT_IN_ROLES } from '../../src/core/scope.ts'
import * as team from '../../src/domains/workspace/team/operations.ts'
import { getWorkspace, listAuditLog, syncEvents } from '../../src/domains/workspace/workspaces/operations.ts'
import { nobodyOnline } from '../../src/domains/workspace/team/presence.ts'
import { startApp, type App } from '../support/app.ts'
import type { Reply, SendOptions } from '../support/send.ts'
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
  await world.workspace('elsewhere', 'olga')
})
afterAll(() => app?.stop())

const at = (workspace = 'acme') => ({ path: { workspaceId: world.id(workspace) } })
const who = (user: string, workspace = 'acme') => ({
  path: { workspaceId: world.id(workspace), userId: world.id(user) },
})
const outcome = ({ status, body }: Reply) => `${status} ${body.code ?? ''}`.trim()

function change(as: string, user: string, body: object, more: SendOptions = {}, workspace = 'acme'): Promise<Reply> {
  return world.as(as).call(team.updateMember, { ...who(user, workspace), body, ...more })
}
const remove = (as: string, user: string, workspace = 'acme') =>
  world.as(as).call(team.removeMember, who(user, workspace))
const leave = (as: string, workspace = 'acme') => world.as(as).call(team.leaveWorkspace, at(workspace))

let people = 0
async function member(role = 'contributor', workspace = 'acme'): Promise<string> {
  const name = `member${(people += 1)}`
  await world.member(workspace, name, { role })
  return name
}

/** The scopes of a user as the pipeline sees them. */
async function scopesOf(user: string, workspace = 'acme'): Promise<string[]> {
  const { body } = await world.as(user).call(getWorkspace, at(workspace))
  return body.data.scopes
}

describe('scopes', () => {
  test('are listed with descriptions and the built-in roles', async () => {
    const { body } = await world.as('olga').call(team.listScopes)
    expect(body.data.scopes.map((row: { scope: string }) => row.scope)).toEqual(ALL_SCOPES)
    expect(body.data.scopes.every((row: { description: string }) => row.description.length > 5)).toBe(true)
    expect(body.data.roles.map((role: { name: string }) => role.name)).toEqual(Object.keys(BUILT_IN_ROLES))
  })
})

describe('members', () => {
  test('are listed newest first in pages, with roles, groups and overrides', async () => {
    await world.workspace('listed', 'ada')
    const names = ['ada']
    for (let count = 0; count < 4; count += 1) names.unshift(await member('client', 'listed'))
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await world.as('ada').call(team.listMembers, { ...at('listed'), query: { limit: 2, cursor } })
      expect(page.status, page.text).toBe(200)
      seen.push(...page.body.data.map((row: { name: string }) => row.name))
      cursor = page.body.pagination.nextCursor ?? undefined
    } while (cursor)
    expect(seen).toEqual(names)
    const [first] = (await world.as('ada').call(team.listMembers, at('listed'))).body.data
    expect(first).toMatchObject({
      _id: world.id(names[0] as string),
      workspaceId: world.id('listed'),
      email: `${names[0]}@example.com`,
      role: 'client',
      roleId: 'client',
      overrides: { granted: [], revoked: [] },
      groups: [],
      version: 1,
    })
  })

  test('are searched by name, address and role, with wildcards taken literally', async () => {
    await world.member('acme', 'percy', { role: 'client' })
    await app.database.run(`update users set name = 'Percy 100%_\\' where email = 'percy@example.com'`)
    const search = async (query: object) => {
      const { body } = await world.as('edith').call(team.listMembers, { ...at(), query: { ...query, limit: 100 } })
      return body.data.map((row: { email: string }) => row.email.replace('@example.com', '')) as string[]
    }
    expect(await search({ q: 'PERC' })).toEqual(['percy'])
    expect(await search({ q: 'percy@example' })).toEqual(['percy'])
    expect(await search({ q: '100%_\\' })).toEqual(['percy'])
    expect(await search({ q: '%' })).toEqual(['percy'])
    expect(await search({ q: 'y_1' })).toEqual([])
    expect(await search({ roleId: 'admin' })).toEqual(['adam'])
    expect(await search({ roleId: world.id('ada') })).toEqual([])
  })

  test('are listed with the presence from the socket gateway', async () => {
    const requested: string[][] = []
    app.composition.services.team.members.attachPresence({
      of: async (userIds) => {
        requested.push([...userIds])
        return new Map([[world.id('edith'), { state: 'away', lastSeenAt: null }]])
      },
    })
    const { body } = await world.as('ada').call(team.listMembers, { ...at(), query: { limit: 100 } })
    const online = body.data.filter((row: { presence: string }) => row.presence !== 'offline')
    expect(online).toMatchObject([{ name: 'edith', presence: 'away', lastSeenAt: null }])
    expect(requested).toEqual([body.data.map((row: { _id: string }) => row._id)])
    app.composition.services.team.members.attachPresence(nobodyOnline)
  })

  test('of another workspace cannot be listed or changed', async () => {
    for (const reply of [
      await world.as('olga').call(team.listMembers, at()),
      await change('olga', 'edith', { role: 'client' }),
      await remove('olga', 'edith'),
      await leave('olga'),
      // Through the path of the caller's own workspace.
      await change('olga', 'edith', { role: 'client' }, {}, 'elsewhere'),
      await remove('olga', 'edith', 'elsewhere'),
    ]) {
      expect(outcome(reply)).toBe('404 not_found')
    }
    expect(outcome(await change('edith', 'adam', { role: 'client' }))).toBe('403 forbidden')
    expect(outcome(await remove('edith', 'adam'))).toBe('403 forbidden')
  })
})

test('removing a member returns the streams whose keys that member could see', async () => {
  const armed = await world.as('ada').call('POST /api/streams', {
    body: { workspaceId: world.id('acme'), title: 'Friday' },
  })
  const expired = await world.as('ada').call('POST /api/streams', {
    body: { workspaceId: world.id('acme'), title: 'Long ago' },
  })
  await app.database.run(`update streams set key_expires_at = now() - interval '1 hour' where id = $1`, [
    expired.body.data._id,
  ])
  const manager = await member('editor')
  const reader = await member('client')
  expect((await remove('ada', manager)).body.data).toEqual({ streamIds: [armed.body.data._id] })
  expect((await remove('ada', reader)).body.data).toEqual({ streamIds: [] })
  // The event has them too, including when a member leaves.
  const leaver = await member('editor')
  expect((await leave(leaver)).status).toBe(200)
  const recorded = await app.database.rows<{ data: object }>(
    `select data from workspace_events where workspace_id = $1 and type = 'member.removed' order by seq desc limit 3`,
    [world.id('acme')],
  )
  expect(recorded.map(({ data }) => data)).toMatchObject([
    { reason: 'left', streamIds: [armed.body.data._id] },
    { reason: 'removed', streamIds: [] },
    { reason: 'removed', streamIds: [armed.body.data._id] },
  ])
})

describe('a member update', () => {
  test('applies a new role immediately', async () => {
    const name = await member('contributor')
    expect(await scopesOf(name)).not.toContain('streams:manage')
    const reply = await change('adam', name, { role: 'Editor' })
    expect(reply.status, reply.text).toBe(200)
    expect(reply.body.data).toMatchObject({ role: 'editor', roleId: 'editor', version: 2 })
    expect(reply.headers.get('etag')).toBe('"2"')
    expect(await scopesOf(name)).toEqual([...BUILT_IN_ROLES.editor].sort())
  })

  test('stores exact scopes as overrides, which survive role changes', async () => {
    const name = await member('client')
    const wanted = ['chat:read', 'media:read', 'team:read']
    const { body } = await change('adam', name, { scopes: wanted })
    expect(body.data.scopes).toEqual(wanted)
    expect(body.data.overrides).toEqual({
      granted: ['chat:read'],
      revoked: ['analytics:read', 'posts:approve', 'posts:read'],
    })
    expect(await scopesOf(name)).toEqual(wanted)
    // A revoked scope stays revoked when the new role has it.
    const promoted = await change('adam', name, { role: 'contributor' })
    expect(promoted.body.data.scopes).not.toContain('posts:read')
    expect(promoted.body.data.scopes).toContain('posts:write')
    const plain = await change('adam', name, { scopes: null })
    expect(plain.body.data.overrides).toEqual({ granted: [], revoked: [] })
    expect(await scopesOf(name)).toEqual([...BUILT_IN_ROLES.contributor].sort())
  })

  test('honors If-Match', async () => {
    const name = await member()
    const ifMatch = (tag: string) => ({ headers: { 'If-Match': tag } })
    expect(outcome(await change('adam', name, { role: 'client' }, ifMatch('"1"')))).toBe('200')
    expect(outcome(await change('adam', name, { role: 'editor' }, ifMatch('"1"')))).toBe('412 precondition_failed')
    const gone = await world.as('adam').call(team.removeMember, { ...who(name), ...ifMatch('"1"') })
    expect(outcome(gone)).toBe('412 precondition_failed')
    expect(outcome(await change('adam', name, { role: 'editor' }, ifMatch('"2"')))).toBe('200')
  })

  test('rejects invalid and contradictory input', async () => {
    for (const body of [
      {},
      { role: 'pope' },
      { roleId: world.id('ada') },
      { role: 'client', roleId: 'editor' },
      { scopes: ['world:rule'] },
      { scopes: ['team:read', 'team:read'] },
    ]) {
      expect(outcome(await change('ada', 'edith', body)), JSON.stringify(body)).toBe('400 validation_failed')
    }
    expect(outcome(await change('ada', 'edith', { role: 'owner', scopes: ['team:read'] }))).toBe(
      '400 validation_failed',
    )
  })

  test('cannot grant a scope that the caller lacks', async () => {
    const client = await member('client')
    expect(outcome(await change('adam', client, { scopes: [...BUILT_IN_ROLES.client, 'billing:manage'] }))).toBe(
      '403 cannot_grant',
    )
    const name = await member('client')
    await world.member('acme', name, { scopes: ['team:read'] })
    await world.member('acme', 'lena', { scopes: ['team:read', 'team:manage', 'posts:read'] })
    const refused = await change('lena', name, { role: 'editor' })
    expect(outcome(refused)).toBe('403 cannot_grant')
    expect(refused.body.message).toContain('streams:manage')
    // Not to themselves either.
    expect(outcome(await change('lena', 'lena', { role: 'admin' }))).toBe('403 cannot_grant')
    expect(outcome(await change('lena', 'lena', { scopes: ['team:manage', 'billing:manage'] }))).toBe(
      '403 cannot_grant',
    )
    expect(outcome(await change('lena', name, { scopes: ['team:read', 'posts:read'] }))).toBe('200')
    // Nor by removing an override: the role of this member has scopes that lena lacks.
    await change('ada', client, { scopes: ['team:read'] })
    expect(outcome(await change('lena', client, { scopes: null }))).toBe('403 outranked')
  })

  test('is refused for members with more scopes than the caller, as is removal', async () => {
    const tom = await member('client')
    await world.member('acme', tom, { scopes: ['team:read', 'team:manage'] })
    const [admin, editor] = [await member('admin'), await member('editor')]
    for (const name of [admin, editor]) {
      const before = await scopesOf(name)
      expect(outcome(await remove(tom, name))).toBe('403 outranked')
      for (const body of [{ role: 'client' }, { scopes: ['team:read'] }, { scopes: null }]) {
        expect(outcome(await change(tom, name, body)), JSON.stringify(body)).toBe('403 outranked')
      }
      expect(await scopesOf(name)).toEqual(before)
    }
    // Members with the same or fewer scopes, and the caller, are allowed.
    expect(outcome(await change('adam', admin, { role: 'editor' }))).toBe('200')
    expect(outcome(await remove(admin, editor))).toBe('403 forbidden')
    expect(outcome(await remove('adam', editor))).toBe('200')
    expect(outcome(await change(tom, tom, { scopes: ['team:read'] }))).toBe('200')
    // Scopes that an override grants count, too.
    await change('ada', admin, { scopes: [...BUILT_IN_ROLES.editor, 'billing:manage'] })
    expect(outcome(await remove('adam', admin))).toBe('403 outranked')
    expect(outcome(await remove('ada', admin))).toBe('200')
  })

  test('checks the current scopes of the caller, not the cached ones', async () => {
    const workspaceId = world.id('acme')
    const [boss, former, target] = [await member('admin'), await member('admin'), await member('client')]
    for (const name of [boss, former]) await scopesOf(name)
    // No notice is sent, so the cache of the pipeline is outdated.
    await app.database.run(`update workspace_members set role = 'editor' where workspace_id = $1 and user_id = $2`, [
      workspaceId,
      world.id(boss),
    ])
    await app.database.run('delete from workspace_members where workspace_id = $1 and user_id = $2', [
      workspaceId,
      world.id(former),
    ])
    const { memberships } = app.composition.services.workspaces
    for (const name of [boss, former])
      expect(await memberships.find(workspaceId, world.id(name))).toMatchObject({ role: 'admin' })
    expect(outcome(await change(boss, target, { role: 'client' }))).toBe('403 forbidden')
    expect(outcome(await change(former, target, { role: 'client' }))).toBe('404 not_found')
    expect(outcome(await leave(former))).toBe('404 not_found')
  })
})

describe('owners', () => {
  test('can be added, changed and removed by owners only', async () => {
    await world.workspace('owned', 'ada')
    await world.member('owned', 'anna', { role: 'admin' })
    await world.member('owned', 'otto', { role: 'owner' })
    const second = await member('client', 'owned')
    expect(outcome(await change('anna', second, { role: 'owner' }, {}, 'owned'))).toBe('403 owners_only')
    expect(outcome(await change('anna', 'anna', { role: 'owner' }, {}, 'owned'))).toBe('403 owners_only')
    expect(outcome(await change('anna', 'otto', { role: 'client' }, {}, 'owned'))).toBe('403 owners_only')
    expect(outcome(await change('anna', 'otto', { scopes: ['team:read'] }, {}, 'owned'))).toBe('403 owners_only')
    expect(outcome(await remove('anna', 'otto', 'owned'))).toBe('403 owners_only')
    await change('ada', second, { scopes: ['team:read', 'ai:use'] }, {}, 'owned')
    const made = await change('otto', second, { role: 'owner' }, {}, 'owned')
    expect(made.body.data).toMatchObject({ role: 'owner', overrides: { granted: [], revoked: [] } })
    expect(made.body.data.scopes).toEqual([...ALL_SCOPES].sort())
    expect(outcome(await change(second, 'otto', { role: 'client' }, {}, 'owned'))).toBe('200')
  })

  test('cannot leave or be demoted when they are the last owner', async () => {
    await world.workspace('kept', 'ada')
    expect(outcome(await change('ada', 'ada', { role: 'admin' }, {}, 'kept'))).toBe('409 last_owner')
    expect(outcome(await remove('ada', 'ada', 'kept'))).toBe('409 last_owner')
    expect(outcome(await leave('ada', 'kept'))).toBe('409 last_owner')
    // If two owners leave at the same time, one stays.
    await world.user('omar', { plan: 'business' })
    await world.member('kept', 'omar', { role: 'owner' })
    const replies = await Promise.all([leave('ada', 'kept'), leave('omar', 'kept')])
    expect(replies.map(outcome).sort()).toEqual(['200', '409 last_owner'])
    // If two owners demote each other, one stays.
    await world.workspace('duel', 'ada')
    await world.member('duel', 'omar', { role: 'owner' })
    const duel = await Promise.all([
      change('ada', 'omar', { role: 'client' }, {}, 'duel'),
      change('omar', 'ada', { role: 'client' }, {}, 'duel'),
    ])
    expect(duel.map(outcome).sort()).toEqual(['200', '403 forbidden'])
    const owners = await app.database.row<{ count: number }>(
      `select count(*) as count from workspace_members where workspace_id = $1 and role = 'owner'`,
      [world.id('duel')],
    )
    expect(owners?.count).toBe(1)
  })

  test('pay for the workspace, and another owner takes over when the payer leaves if their plan allows it', async () => {
    await world.user('paula', { plan: 'business' })
    await world.workspace('paid', 'paula')
    await world.member('paid', 'quentin', { role: 'owner' })
    await world.member('paid', 'rosa', { role: 'owner' })
    for (const name of ['q1', 'q2', 'q3']) await world.workspace(name, 'quentin')
    const full = await leave('paula', 'paid')
    expect(outcome(full)).toBe('402 plan_limit_reached')
    expect(full.body.details).toMatchObject({ limit: 'workspaces', value: 3, used: 3 })
    // The owner who removes the payer takes over.
    expect(outcome(await remove('rosa', 'paula', 'paid'))).toBe('200')
    const { body } = await world.as('rosa').call(getWorkspace, at('paid'))
    expect(body.data).toMatchObject({ ownerId: world.id('rosa'), version: 2 })
    const log = await world.as('rosa').call(listAuditLog, { ...at('paid'), query: { action: 'removeMember' } })
    expect(log.body.data.map((entry: { target: { kind: string } }) => entry.target.kind).sort()).toEqual([
      'member',
      'workspace',
    ])
  })
})

describe('leaving a workspace', () => {
  test('ends access and group memberships immediately, as does being removed', async () => {
    for (const how of ['remove', 'leave'] as const) {
      const name = await member('editor')
      const group = await world.as('ada').call(team.createGroup, {
        ...at(),
        body: { name: `Group of ${name}`, memberIds: [world.id(name)] },
      })
      expect((await world.as(name).call(getWorkspace, at())).status).toBe(200)
      expect(outcome(how === 'remove' ? await remove('adam', name) : await leave(name))).toBe('200')
      expect((await world.as(name).call(getWorkspace, at())).status).toBe(404)
      expect(outcome(how === 'remove' ? await remove('adam', name) : await leave(name))).toBe('404 not_found')
      const left = await world.as('ada').call(team.getGroup, { path: { ...at().path, id: group.body.data._id } })
      expect(left.body.data).toMatchObject({ memberIds: [], version: 2 })
    }
  })

  test('is allowed for team managers by removing themselves', async () => {
    const name = await member('admin')
    expect(outcome(await remove(name, name))).toBe('200')
    expect((await world.as(name).call(getWorkspace, at())).status).toBe(404)
  })
})

test('the audit log and the events contain every change', async () => {
  await world.workspace('audited', 'ada')
  const name = await member('client', 'audited')
  await change('ada', name, { role: 'editor', scopes: ['team:read'] }, {}, 'audited')
  await remove('ada', name, 'audited')
  const { body } = await world.as('ada').call(listAuditLog, at('audited'))
  const [removed, changed] = body.data
  expect(changed).toMatchObject({
    action: 'updateMember',
    actor: { _id: world.id('ada') },
    target: { kind: 'member', _id: world.id(name) },
    details: { role: { from: 'client', to: 'editor' }, overrides: { from: { granted: [], revoked: [] } } },
  })
  expect(changed.details.overrides.to.revoked).toContain('streams:manage')
  expect(removed).toMatchObject({
    action: 'removeMember',
    target: { kind: 'member', _id: world.id(name) },
    details: { email: `${name}@example.com`, role: 'editor' },
  })
  const events = await world.as('ada').call(syncEvents, at('audited'))
  const recorded = events.body.data.events.map((event: { type: string; data: object }) => [event.type, event.data])
  expect(recorded).toEqual([
    ['member.updated', expect.objectContaining({ _id: world.id(name), role: 'editor', scopes: ['team:read'] })],
    ['member.removed', { userId: world.id(name), reason: 'removed', streamIds: [] }],
  ])
  // Refused requests are not recorded.
  await change('ada', 'ada', { role: 'client' }, {}, 'audited')
  expect((await world.as('ada').call(listAuditLog, at('audited'))).body.data).toHaveLength(body.data.length)
  const leaver = await member('client', 'audited')
  await leave(leaver, 'audited')
  const [left] = (await world.as('ada').call(listAuditLog, at('audited'))).body.data
  expect(left).toMatchObject({
    action: 'leaveWorkspace',
    actor: { _id: world.id(leaver) },
    target: { kind: 'member', _id: world.id(leaver) },
  })
})
