import { assert, property, subarray } from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import { InProcessCoordination } from '../../../coordination/in-process.ts'
import { systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { createLog } from '../../../core/log.ts'
import { ALL_SCOPES, BUILT_IN_ROLES, type Scope } from '../../../core/scope.ts'
import { Database } from '../../../db/database.ts'
import type { ScopeSources } from './membership-store.ts'
import { MemberCache, mergedScopes } from './memberships.ts'

const sources = (fields: Partial<ScopeSources>): ScopeSources => ({
  role: null,
  roleName: null,
  roleScopes: null,
  groupScopes: [],
  addedScopes: [],
  removedScopes: [],
  ...fields,
})

describe('merging scopes', () => {
  it('is the union of role, groups and added scopes, minus removed scopes', () => {
    const scopes = subarray(ALL_SCOPES)
    assert(
      property(scopes, scopes, scopes, scopes, (role, groups, added, removed) => {
        const merged = mergedScopes(
          sources({ roleScopes: role, groupScopes: groups, addedScopes: added, removedScopes: removed }),
        )
        for (const scope of ALL_SCOPES) {
          const given = [role, groups, added].some((source) => source.includes(scope))
          expect(merged.has(scope)).toBe(given && !removed.includes(scope))
        }
      }),
    )
  })

  it('gives an owner every scope, even a removed one', () => {
    const owner = sources({ role: 'owner', removedScopes: ['billing:manage'] })
    expect([...mergedScopes(owner)]).toEqual(BUILT_IN_ROLES.owner)
  })

  it('ignores unknown scopes', () => {
    expect([...mergedScopes(sources({ roleScopes: ['posts:read', 'world:rule'] }))]).toEqual(['posts:read'])
  })
})

describe('members of the database', () => {
  let made: TestDatabase
  let database: Database
  let members: MemberCache
  const [owner, user] = [uuidv7(Date.now()), uuidv7(Date.now())]
  const [workspaceId, otherWorkspace] = [uuidv7(Date.now()), uuidv7(Date.now())]
  const now = new Date()
  const add = (text: string, values: unknown[]) => database.run(text, values as string[])
  const scopesNow = async () => [...((await members.find(workspaceId, user))?.scopes ?? [])].toSorted()

  beforeAll(async () => {
    made = await createDatabase()
    const log = createLog({ level: 'silent' })
    database = await Database.connect({ url: made.url, poolSize: 3, entities: [], log })
    members = new MemberCache(database, systemClock, new InProcessCoordination(log))
    for (const id of [owner, user]) {
      await add('insert into users (id, email, created_at, updated_at) values ($1, $2, $3, $3)', [
        id,
        `${id}@example.com`,
        now,
      ])
    }
    for (const id of [workspaceId, otherWorkspace]) {
      await add(
        `insert into workspaces (id, owner_id, name, timezone, created_at, updated_at) values ($1, $2, 'W', 'UTC', $3, $3)`,
        [id, owner, now],
      )
    }
    await add(
      `insert into workspace_members (workspace_id, user_id, role, added_scopes, removed_scopes, joined_at, updated_at)
       values ($1, $2, 'client', '{chat:read}', '{posts:approve}', $3, $3)`,
      [workspaceId, user, now],
    )
  })
  afterAll(async () => {
    members?.close()
    await database?.close()
    await made?.drop()
  })

  async function group(workspace: string, scopes: Scope[]): Promise<string> {
    const id = uuidv7(Date.now())
    await add(
      'insert into groups (id, workspace_id, name, scopes, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)',
      [id, workspace, id, scopes, now],
    )
    return id
  }

  it('merges role, groups and personal scopes of this workspace only', async () => {
    for (const id of [
      await group(workspaceId, ['ideas:read', 'ideas:write']),
      await group(workspaceId, ['ideas:read', 'posts:approve']),
    ]) {
      await add('insert into group_members (group_id, workspace_id, user_id) values ($1, $2, $3)', [
        id,
        workspaceId,
        user,
      ])
    }
    await add(
      `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at) values ($1, $2, 'editor', $3, $3)`,
      [otherWorkspace, user, now],
    )
    const wide = await group(otherWorkspace, [...ALL_SCOPES])
    await add('insert into group_members (group_id, workspace_id, user_id) values ($1, $2, $3)', [
      wide,
      otherWorkspace,
      user,
    ])
    expect(await scopesNow()).toEqual([
      'analytics:read',
      'chat:read',
      'ideas:read',
      'ideas:write',
      'media:read',
      'posts:read',
      'team:read',
    ])
  })

  it('answers from the cache until the workspace is reported as changed', async () => {
    expect(members.find(workspaceId, user)).not.toBeInstanceOf(Promise)
    const roleId = uuidv7(Date.now())
    await add(
      `insert into roles (id, workspace_id, name, scopes, created_at, updated_at) values ($1, $2, 'Host', '{streams:manage}', $3, $3)`,
      [roleId, workspaceId, now],
    )
    await add('update workspace_members set role = null, role_id = $3 where workspace_id = $1 and user_id = $2', [
      workspaceId,
      user,
      roleId,
    ])
    expect(members.find(workspaceId, user)).toMatchObject({ role: 'client' })
    members.changed(workspaceId)
    expect(await members.find(workspaceId, user)).toMatchObject({ role: 'Host' })
    expect(await scopesNow()).toEqual(['chat:read', 'ideas:read', 'ideas:write', 'streams:manage'])
  })

  it('removes group memberships together with the membership', async () => {
    await add('delete from workspace_members where workspace_id = $1 and user_id = $2', [workspaceId, user])
    members.changed(workspaceId)
    expect(await members.find(workspaceId, user)).toBeUndefined()
    expect(await database.rows('select 1 from group_members where workspace_id = $1', [workspaceId])).toEqual([])
  })

  it('does not query the database for malformed ids', () => {
    expect(members.find('nonsense', user)).toBeUndefined()
  })
})
