import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Scope } from '../../src/core/scope.ts'
import * as team from '../../src/team/operations.ts'
import { MEMBER_COLUMNS, mergedScopes, type MemberRow } from '../../src/workspaces/memberships.ts'
import { startApp, type App } from '../support/app.ts'
import type { Answer } from '../support/send.ts'
import { World } from '../support/world.ts'

/**
 * Random members do random things to one another. Whatever they do: nobody gains what the one who did it lacks, nobody
 * becomes an owner but by an owner, somebody stays one, and what was refused has changed nothing.
 */

const MEMBERS = ['ada', 'adam', 'lena', 'leon', 'cleo']
const GUESTS = ['gail', 'gus', 'gwen']
const PEOPLE = [...MEMBERS, ...GUESTS]
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

type Step = fc.Arbitrary<Action>

/** One thing that somebody does; numbers choose among what there is. */
type Action =
  | {
      readonly do: 'change'
      readonly by: string
      readonly who: string
      readonly role?: number
      readonly scopes?: Scope[] | null
    }
  | { readonly do: 'remove' | 'leave'; readonly by: string; readonly who: string }
  | {
      readonly do: 'createRole' | 'createGroup'
      readonly by: string
      readonly scopes: Scope[]
      readonly members: string[]
    }
  | { readonly do: 'updateRole'; readonly by: string; readonly role: number; readonly scopes: Scope[] }
  | { readonly do: 'deleteRole'; readonly by: string; readonly role: number; readonly replacement: number }
  | {
      readonly do: 'updateGroup'
      readonly by: string
      readonly group: number
      readonly scopes?: Scope[]
      readonly members?: string[]
    }
  | { readonly do: 'deleteGroup'; readonly by: string; readonly group: number }
  | {
      readonly do: 'invite'
      readonly by: string
      readonly who: string
      readonly role: number
      readonly scopes?: Scope[]
    }
  | { readonly do: 'accept'; readonly by: string }
  | { readonly do: 'resend'; readonly by: string; readonly who: string }

const one = (names: readonly string[]) => fc.constantFrom(...names)
const some = fc.subarray(SCOPES)
const index = fc.nat({ max: 9 })
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

function record<T extends Action['do']>(kind: T, fields: Record<string, fc.Arbitrary<unknown>>): Step {
  return fc.record({ do: fc.constant(kind), by: one(MEMBERS), ...fields }) as unknown as Step
}

const action: Step = fc.oneof(
  { weight: 5, arbitrary: record('change', { who: one(PEOPLE), role: maybe(index), scopes: maybe(fc.option(some)) }) },
  { weight: 1, arbitrary: record('remove', { who: one(PEOPLE) }) },
  { weight: 1, arbitrary: record('leave', { who: one(PEOPLE) }) },
  { weight: 2, arbitrary: record('createRole', { scopes: some, members: fc.constant([]) }) },
  { weight: 3, arbitrary: record('updateRole', { role: index, scopes: some }) },
  { weight: 1, arbitrary: record('deleteRole', { role: index, replacement: index }) },
  { weight: 2, arbitrary: record('createGroup', { scopes: some, members: fc.subarray(MEMBERS) }) },
  {
    weight: 3,
    arbitrary: record('updateGroup', { group: index, scopes: maybe(some), members: maybe(fc.subarray(PEOPLE)) }),
  },
  { weight: 1, arbitrary: record('deleteGroup', { group: index }) },
  { weight: 3, arbitrary: record('invite', { who: one(PEOPLE), role: index, scopes: maybe(some) }) },
  { weight: 1, arbitrary: record('resend', { who: one(PEOPLE) }) },
  { weight: 3, arbitrary: record('accept', { by: one(GUESTS) }) },
)

interface State {
  readonly scopes: ReadonlyMap<string, ReadonlySet<Scope>>
  readonly owners: readonly string[]
  readonly roles: readonly { id: string; scopes: Scope[] }[]
  readonly groups: readonly { id: string; scopes: Scope[] }[]
  readonly open: readonly { id: string; email: string; invited_by: string }[]
  /** Everything, to see that nothing has changed. */
  readonly text: string
}

async function stateOf(workspaceId: string): Promise<State> {
  const { database } = app
  const rows = await database.rows<MemberRow & { email: string }>(
    `select u.email, ${MEMBER_COLUMNS} from workspace_members m join users u on u.id = m.user_id
     left join roles r on r.id = m.role_id where m.workspace_id = $1 order by u.email`,
    [workspaceId],
  )
  const all = <T extends object>(text: string) => database.rows<T>(text, [workspaceId])
  const roles = await all<State['roles'][number]>('select id, scopes from roles where workspace_id = $1 order by id')
  const groups = await all<State['groups'][number]>('select id, scopes from groups where workspace_id = $1 order by id')
  const open = await all<State['open'][number]>(
    `select id, email, invited_by from invitations where workspace_id = $1 and status = 'open' order by id`,
  )
  const name = (row: { email: string }) => row.email.replace('@example.com', '')
  return {
    scopes: new Map(rows.map((row) => [name(row), mergedScopes(row)])),
    owners: rows.filter((row) => row.built_in_role === 'owner').map(name),
    roles,
    groups,
    open,
    text: JSON.stringify([rows, roles, groups, open]),
  }
}

/** `owner`, `admin`, … and the workspace's own, by number. */
function roleAt(state: State, number: number): string {
  const ids = ['client', 'contributor', 'admin', 'owner', ...state.roles.map((role) => role.id)]
  return ids[number % ids.length] as string
}

function at<T>(items: readonly T[], number: number): T | undefined {
  return items.length === 0 ? undefined : items[number % items.length]
}

let names = 0

async function perform(action: Action, workspaceId: string, state: State): Promise<Answer | undefined> {
  const voice = world.as(action.by)
  const path = { workspaceId }
  const ids = (members: readonly string[]) => members.map((name) => world.id(name))
  switch (action.do) {
    case 'change': {
      const { role, scopes } = action
      const body = {
        ...(role !== undefined && { roleId: roleAt(state, role) }),
        ...(scopes !== undefined && { scopes }),
      }
      return voice.call(team.updateMember, { path: { ...path, userId: world.id(action.who) }, body })
    }
    case 'remove':
      return voice.call(team.removeMember, { path: { ...path, userId: world.id(action.who) } })
    case 'leave':
      return voice.call(team.leaveWorkspace, { path })
    case 'createRole':
      return voice.call(team.createRole, { path, body: { name: `N${(names += 1)}`, scopes: action.scopes } })
    case 'createGroup': {
      const body = { name: `N${(names += 1)}`, scopes: action.scopes, memberIds: ids(action.members) }
      return voice.call(team.createGroup, { path, body })
    }
    case 'updateRole': {
      const role = at(state.roles, action.role)
      return role && voice.call(team.updateRole, { path: { ...path, id: role.id }, body: { scopes: action.scopes } })
    }
    case 'deleteRole': {
      const role = at(state.roles, action.role)
      const query = { replaceWith: roleAt(state, action.replacement) }
      return role && voice.call(team.deleteRole, { path: { ...path, id: role.id }, query })
    }
    case 'updateGroup': {
      const group = at(state.groups, action.group)
      const body = {
        ...(action.scopes && { scopes: action.scopes }),
        ...(action.members && { memberIds: ids(action.members) }),
      }
      return group && voice.call(team.updateGroup, { path: { ...path, id: group.id }, body })
    }
    case 'deleteGroup': {
      const group = at(state.groups, action.group)
      return group && voice.call(team.deleteGroup, { path: { ...path, id: group.id } })
    }
    case 'invite': {
      const body = {
        email: `${action.who}@example.com`,
        roleId: roleAt(state, action.role),
        ...(action.scopes && { scopes: action.scopes }),
      }
      return voice.call(team.inviteMember, { path, body })
    }
    case 'resend': {
      const open = state.open.find((row) => row.email === `${action.who}@example.com`)
      return open && voice.call(team.resendInvitation, { path: { ...path, id: open.id } })
    }
    case 'accept': {
      const open = state.open.find((row) => row.email === `${action.by}@example.com`)
      return open && voice.call(team.acceptInvitation, { path: { token: open.id } })
    }
  }
}

/** On whose authority something was done. */
function authority(action: Action, before: State): string {
  if (action.do !== 'accept') return action.by
  const inviterId = before.open.find((row) => row.email === `${action.by}@example.com`)?.invited_by
  return PEOPLE.find((name) => world.id(name) === inviterId) ?? ''
}

function check(action: Action, answer: Answer, before: State, after: State): void {
  const what = `${JSON.stringify(action)} → ${answer.text}`
  expect(answer.status, what).toBeLessThan(500)
  if (answer.status >= 400) {
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
  const newOwners = after.owners.filter((owner) => !before.owners.includes(owner))
  if (newOwners.length > 0) expect(before.owners, what).toContain(name)
  expect(after.owners.length, what).toBeGreaterThan(0)
}

test('nobody grants what they lack, whatever is done in whatever order', { timeout: 120_000 }, async () => {
  const done = new Map<string, number>()
  let runs = 0
  const scenario = fc.asyncProperty(fc.array(action, { minLength: 25, maxLength: 40 }), async (actions) => {
    const workspaceId = await world.workspace(`world ${(runs += 1)}`, 'ada')
    const name = `world ${runs}`
    await world.member(name, 'adam', { role: 'admin' })
    await world.member(name, 'lena', { scopes: ['team:read', 'team:manage', 'posts:read'] })
    await world.member(name, 'leon', { scopes: ['team:read', 'team:manage', 'streams:manage', 'posts:write'] })
    await world.member(name, 'cleo', { role: 'client' })
    let before = await stateOf(workspaceId)
    for (const step of actions) {
      const answer = await perform(step, workspaceId, before)
      if (answer === undefined) continue
      const after = await stateOf(workspaceId)
      check(step, answer, before, after)
      const outcome = `${step.do} ${answer.status} ${answer.body.code ?? ''}`.trim()
      done.set(outcome, (done.get(outcome) ?? 0) + 1)
      before = after
    }
  })
  await fc.assert(scenario, { numRuns: 25, endOnFailure: true })
  // The scenarios were about something.
  const count = (outcome: RegExp) =>
    [...done].filter(([name]) => outcome.test(name)).reduce((sum, [, times]) => sum + times, 0)
  expect(count(/ 20\d$/)).toBeGreaterThan(100)
  expect(count(/cannot_grant/)).toBeGreaterThan(50)
  expect(count(/^accept 200/)).toBeGreaterThan(0)
})
