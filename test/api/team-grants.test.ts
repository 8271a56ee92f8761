import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ALL_SCOPES, type Scope } from '../../src/core/scope.ts'
import * as team from '../../src/domains/workspace/team/operations.ts'
import { findMemberships, mergedScopes } from '../../src/domains/workspace/workspaces/index.ts'
import { startApp, type App } from '../support/app.ts'
import type { Reply } from '../support/send.ts'
import { World } from '../support/world.ts'

/**
 * Random members perform random actions on each other. Always: no one gains a scope that the acting member lacks, no one
 * with more scopes is changed or removed, only owners make owners, at least one owner stays, and a refused request
 * changes nothing.
 */

/** The initial members. alma has all scopes of an owner, but is not one. */
const MEMBERS = {
  adam: { role: 'admin' },
  alma: { scopes: ALL_SCOPES },
  lena: { scopes: ['team:read', 'team:manage', 'posts:read'] },
  leon: { scopes: ['team:read', 'team:manage', 'streams:manage', 'posts:write'] },
} as const
const GUESTS = ['gail', 'gus', 'gwen', 'gert']
const PEOPLE = ['ada', ...Object.keys(MEMBERS), ...GUESTS]
const SCOPES: Scope[] = ['team:read', 'team:manage', 'billing:manage', 'posts:read', 'posts:write', 'streams:manage']

let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  for (const name of PEOPLE) await world.user(name)
})
afterAll(() => app?.stop())

/** An action of a member. Numbers select from the members, roles and groups that exist at that time. */
interface Action {
  readonly do: keyof typeof KINDS
  readonly by: number
  readonly who: number
  readonly guest: string
  readonly role: number | undefined
  readonly group: number
  readonly scopes: Scope[] | undefined
  readonly drop: boolean
  readonly members: number[]
}

/** The weight of each action. */
const KINDS = {
  change: 4,
  remove: 1,
  leave: 1,
  invite: 3,
  resend: 1,
  accept: 3,
  createRole: 1,
  updateRole: 3,
  deleteRole: 1,
  createGroup: 1,
  updateGroup: 3,
  deleteGroup: 1,
} as const

const action: fc.Arbitrary<Action> = fc.record({
  do: fc.oneof(
    ...Object.entries(KINDS).map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind as keyof typeof KINDS) })),
  ),
  by: fc.nat({ max: 20 }),
  who: fc.nat({ max: 20 }),
  guest: fc.constantFrom(...GUESTS),
  role: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
  group: fc.nat({ max: 20 }),
  scopes: fc.option(fc.subarray(SCOPES), { nil: undefined }),
  drop: fc.boolean(),
  members: fc.uniqueArray(fc.nat({ max: 4 }), { maxLength: 3 }),
})

interface State {
  readonly scopes: ReadonlyMap<string, ReadonlySet<Scope>>
  readonly owners: readonly string[]
  readonly roles: readonly { id: string; scopes: Scope[] }[]
  readonly groups: readonly { id: string; scopes: Scope[] }[]
  readonly open: readonly { id: string; email: string; invited_by: string }[]
  /** A snapshot of the whole team, to check that nothing has changed. */
  readonly text: string
}

async function stateOf(workspaceId: string): Promise<State> {
  const { database } = app
  const names = new Map(PEOPLE.map((person) => [world.id(person), person]))
  const rows = await findMemberships(database, { workspaceId })
  const all = <T extends object>(text: string) => database.rows<T>(text, [workspaceId])
  const roles = await all<State['roles'][number]>('select id, scopes from roles where workspace_id = $1 order by id')
  const groups = await all<State['groups'][number]>('select id, scopes from groups where workspace_id = $1 order by id')
  const open = await all<State['open'][number]>(
    `select id, email, invited_by from invitations where workspace_id = $1 and status = 'open' order by id`,
  )
  const name = (row: { userId: string }) => names.get(row.userId) as string
  return {
    scopes: new Map(rows.map((row) => [name(row), mergedScopes(row)])),
    owners: rows.filter((row) => row.role === 'owner').map(name),
    roles,
    groups,
    open,
    // The scopes of several groups have no order.
    text: JSON.stringify([
      rows.map((row) => ({ ...row, groupScopes: row.groupScopes.toSorted() })),
      roles,
      groups,
      open,
    ]),
  }
}

/** Built-in and custom roles, by number. */
function roleAt(state: State, number: number): string {
  const ids = ['client', 'contributor', 'admin', 'owner', ...state.roles.map((role) => role.id)]
  return ids[number % ids.length] as string
}

function at<T>(items: readonly T[], number: number): T | undefined {
  return items.length === 0 ? undefined : items[number % items.length]
}

let names = 0

/** The acting user: a member, or the guest who accepts. */
function actorOf(action: Action, state: State): string {
  return action.do === 'accept' ? action.guest : (at([...state.scopes.keys()], action.by) as string)
}

async function perform(action: Action, workspaceId: string, state: State): Promise<Reply | undefined> {
  const { group: groupNumber, guest, role, scopes, who } = action
  const caller = world.as(actorOf(action, state))
  const path = { workspaceId }
  const members = [...state.scopes.keys()]
  const idAt = (number: number) => world.id(at(members, number) as string)
  const ownRole = at(state.roles, role ?? 0)
  const group = at(state.groups, groupNumber)
  const memberIds = [...new Set(action.members.map(idAt))]
  const open = state.open.find((row) => row.email === `${guest}@example.com`)
  const wanted = scopes && { scopes }
  switch (action.do) {
    case 'change': {
      const body = {
        ...(role !== undefined && { roleId: roleAt(state, role) }),
        ...(action.drop ? { scopes: null } : wanted),
      }
      return caller.call(team.updateMember, { path: { ...path, userId: idAt(who) }, body })
    }
    case 'remove':
      return caller.call(team.removeMember, { path: { ...path, userId: idAt(who) } })
    case 'leave':
      return caller.call(team.leaveWorkspace, { path })
    case 'createRole':
      return caller.call(team.createRole, { path, body: { name: `N${(names += 1)}`, scopes: scopes ?? [] } })
    case 'createGroup':
      return caller.call(team.createGroup, { path, body: { name: `N${(names += 1)}`, memberIds, ...wanted } })
    case 'updateRole':
      return (
        ownRole && caller.call(team.updateRole, { path: { ...path, id: ownRole.id }, body: { scopes: scopes ?? [] } })
      )
    case 'deleteRole': {
      const query = { replaceWith: roleAt(state, who) }
      return ownRole && caller.call(team.deleteRole, { path: { ...path, id: ownRole.id }, query })
    }
    case 'updateGroup':
      return (
        group &&
        caller.call(team.updateGroup, {
          path: { ...path, id: group.id },
          body: { memberIds, ...(action.drop ? {} : wanted) },
        })
      )
    case 'deleteGroup':
      return group && caller.call(team.deleteGroup, { path: { ...path, id: group.id } })
    case 'invite': {
      const body = { email: `${guest}@example.com`, roleId: roleAt(state, role ?? who), ...wanted }
      return caller.call(team.inviteMember, { path, body })
    }
    case 'resend':
      return open && caller.call(team.resendInvitation, { path: { ...path, id: open.id } })
    default:
      return open && caller.call(team.acceptInvitation, { path: { token: open.id } })
  }
}

/** The user whose scopes limit an action. */
function authority(action: Action, before: State): string {
  if (action.do !== 'accept') return actorOf(action, before)
  const inviterId = before.open.find((row) => row.email === `${action.guest}@example.com`)?.invited_by
  return PEOPLE.find((name) => world.id(name) === inviterId) ?? ''
}

function check(action: Action, reply: Reply, before: State, after: State): void {
  const what = `${JSON.stringify(action)} → ${reply.text}`
  expect(reply.status, what).toBeLessThan(500)
  if (reply.status >= 400) {
    expect(after.text, what).toBe(before.text)
    return
  }
  const name = authority(action, before)
  const rights = before.scopes.get(name) ?? new Set<Scope>()
  const lacked = (scopes: Iterable<Scope>, had: ReadonlySet<Scope>) =>
    [...scopes].filter((scope) => !had.has(scope) && !rights.has(scope))
  for (const [member, scopes] of after.scopes) {
    expect(lacked(scopes, before.scopes.get(member) ?? new Set()), `${member} by ${what}`).toEqual([])
  }
  for (const kind of ['roles', 'groups'] as const) {
    for (const { id, scopes } of after[kind]) {
      const had = new Set(before[kind].find((row) => row.id === id)?.scopes)
      expect(lacked(scopes, had), `${kind} by ${what}`).toEqual([])
    }
  }
  const outranks = (scopes: Iterable<Scope>) => [...scopes].some((scope) => !rights.has(scope))
  for (const [member, scopes] of before.scopes) {
    if (member === name || !outranks(scopes)) continue
    expect(after.scopes.get(member), `${member} has more rights, but ${what}`).toEqual(scopes)
  }
  for (const kind of ['roles', 'groups'] as const) {
    for (const { id, scopes } of before[kind].filter((row) => outranks(row.scopes))) {
      expect(after[kind].find((row) => row.id === id)?.scopes, `${kind} by ${what}`).toEqual(scopes)
    }
  }
  const newOwners = after.owners.filter((owner) => !before.owners.includes(owner))
  if (newOwners.length > 0) expect(before.owners, what).toContain(name)
  expect(after.owners.length, what).toBeGreaterThan(0)
}

test('nobody grants scopes that they lack or changes members with more scopes, in any sequence of actions', async () => {
  const done = new Map<string, number>()
  let runs = 0
  const scenario = fc.asyncProperty(fc.array(action, { minLength: 25, maxLength: 40 }), async (actions) => {
    const workspaceId = await world.workspace(`world ${(runs += 1)}`, 'ada')
    const name = `world ${runs}`
    for (const [member, as] of Object.entries(MEMBERS)) await world.member(name, member, as)
    // A group with many scopes, so that joining it matters from the first step.
    const rich = { name: 'Rich', memberIds: [], scopes: ['billing:manage', 'streams:manage'] }
    await world.as('ada').call(team.createGroup, { path: { workspaceId }, body: rich })
    let before = await stateOf(workspaceId)
    for (const step of actions) {
      const reply = await perform(step, workspaceId, before)
      if (reply === undefined) continue
      const after = await stateOf(workspaceId)
      check(step, reply, before, after)
      const outcome = `${step.do} ${reply.status} ${reply.body.code ?? ''}`.trim()
      done.set(outcome, (done.get(outcome) ?? 0) + 1)
      before = after
    }
  })
  await fc.assert(scenario, { numRuns: 25, endOnFailure: true })
  // The scenarios contained enough successful and refused actions.
  const count = (outcome: RegExp) =>
    [...done].filter(([name]) => outcome.test(name)).reduce((sum, [, times]) => sum + times, 0)
  expect(count(/ 20\d$/)).toBeGreaterThan(100)
  expect(count(/cannot_grant/)).toBeGreaterThan(50)
  expect(count(/outranked/)).toBeGreaterThan(50)
  expect(count(/^accept 200/)).toBeGreaterThan(0)
})
