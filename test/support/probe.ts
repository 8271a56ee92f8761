import { RowShapes } from '../../src/db/row-shape.ts'
import { PlanLimit, PreconditionFailed, Conflict } from '../../src/core/errors.ts'
import { requireVersion } from '../../src/core/precondition.ts'
import type { Caller, Member } from '../../src/core/caller.ts'
import { CredentialExpired, InvalidCredential, NotFound } from '../../src/core/errors.ts'
import { isUuid, uuidv7 } from '../../src/tools/id.ts'
import { from, operation, owner, type Registry } from '../../src/core/operation.ts'
import { created, done, empty, list, ok } from '../../src/core/reply.ts'
import { Done, Envelope, Id, Input, ListOf, Text, Type } from '../../src/core/schema.ts'
import { requireScope } from '../../src/core/require-scope.ts'
import type { Scope } from '../../src/core/scope.ts'
import type { TurnAuthorizer } from '../../src/turns/turn-authorizer.ts'
import type { Composition } from '../../src/server/compose.ts'
import * as health from '../../src/domains/system/health/operations.ts'
import * as services from '../../src/domains/system/switches/operations.ts'
import { startApp, type App, type AppOptions } from './app.ts'

/**
 * A small domain for tests of the pipeline: things in workspaces, on the real server, database, turns and limits. Only
 * authentication is replaced, so that these tests need no accounts.
 */

const Thing = Type.Object({ _id: Id, name: Type.String(), version: Type.Integer() })
const ThingPath = Input({ id: Id })

interface ThingRow {
  id: string
  name: string
  version: number
}

const view = (row: ThingRow) => ({ _id: row.id, name: row.name, version: row.version })

const thingRows = new RowShapes('probe_things', (column) => column)

export const createThing = operation({
  route: 'POST /api/probe/things',
  summary: 'Make a thing',
  access: 'streams:manage',
  workspace: from.body('workspaceId'),
  turn: true,
  body: Input({
    workspaceId: Id,
    name: Text(1, 100),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
    tags: Type.Optional(Type.Array(Text(1, 20), { maxItems: 3 })),
    anything: Type.Optional(Type.Unknown()),
  }),
  bodyLimit: 20_000,
  returns: { 201: Envelope(Thing) },
  errors: [PlanLimit, Conflict],
  example: { body: { workspaceId: '01900000-0000-7000-8000-000000000001', name: 'A thing' } },
  handle: async ({ body, turn }) => {
    const used = await turn.sql.row<{ count: number }>(
      'select count(*)::int as count from probe_things where workspace_id = $1',
      [body.workspaceId],
    )
    if ((used?.count ?? 0) >= MAX_THINGS) throw PlanLimit({ details: { limit: 'things', value: MAX_THINGS } })
    if (body.name === 'taken') throw Conflict()
    const row = { id: uuidv7(Date.now()), name: body.name, version: 1 }
    turn.insert(thingRows, { ...row, workspace_id: body.workspaceId })
    return created('Made', view(row))
  },
})

/** The most things that a workspace can have. */
export const MAX_THINGS = 200

export const listThings = operation({
  route: 'GET /api/probe/things',
  summary: 'List things',
  access: 'streams:read',
  workspace: from.query('workspaceId'),
  query: Input({
    workspaceId: Id,
    tags: Type.Optional(Type.Array(Type.String())),
    count: Type.Optional(Type.Integer()),
  }),
  returns: { 200: ListOf(Thing) },
  example: { query: { workspaceId: '01900000-0000-7000-8000-000000000001' } },
  handle: async ({ turns, query }) => {
    void turns
    return list('Things', { items: [], limit: query.count ?? 30, nextCursor: null })
  },
})

let things: App['database'] | undefined

export const getThing = operation({
  route: 'GET /api/probe/things/{id}',
  summary: 'Show a thing',
  access: 'streams:read',
  workspace: owner('probe_things'),
  path: ThingPath,
  returns: { 200: Envelope(Thing) },
  etag: true,
  example: { path: { id: '01900000-0000-7000-8000-000000000002' } },
  handle: async ({ path }) => ok('A thing', view(await find(path.id))),
})

export const renameThing = operation({
  route: 'PATCH /api/probe/things/{id}',
  summary: 'Rename a thing',
  access: 'streams:manage',
  workspace: owner('probe_things'),
  turn: true,
  path: ThingPath,
  body: Input({ name: Text(1, 100) }),
  returns: { 200: Envelope(Thing) },
  etag: true,
  errors: [PreconditionFailed],
  example: { path: { id: '01900000-0000-7000-8000-000000000002' }, body: { name: 'Another name' } },
  handle: async ({ path, body, turn, ifMatch }) => {
    const row = await turn.sql.row<ThingRow>('select id, name, version from probe_things where id = $1', [path.id])
    requireVersion(ifMatch, row?.version ?? 0)
    const changed = await turn.sql.row<ThingRow>(
      'update probe_things set name = $2, version = version + 1 where id = $1 returning id, name, version',
      [path.id, body.name],
    )
    return ok('Renamed', view(changed as ThingRow))
  },
})

async function find(id: string): Promise<ThingRow> {
  const row = await things?.row<ThingRow>('select id, name, version from probe_things where id = $1', [id])
  if (row === undefined) throw new Error('the pipeline let an unknown thing through')
  return row
}

/** Gates at which the operation `wait` blocks until a test opens them. */
const gates = new Map<string, { readonly opened: Promise<void>; readonly open: () => void; arrived: number }>()

export function gate(name: string): { open: () => void; arrivals: () => number } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const made = { opened: promise, open: resolve, arrived: 0 }
  gates.set(name, made)
  return { open: resolve, arrivals: () => made.arrived }
}

export const wait = operation({
  route: 'POST /api/probe/wait',
  summary: 'Reply when a gate is opened',
  access: 'user',
  body: Input({ gate: Text(1, 40) }),
  returns: { 200: Done },
  example: { body: { gate: 'none' } },
  handle: async ({ body }) => {
    const found = gates.get(body.gate)
    if (found) {
      found.arrived += 1
      await found.opened
    }
    return done('Through')
  },
})

export const secretOnce = operation({
  route: 'POST /api/probe/secret',
  summary: 'Show a secret once',
  access: 'user',
  returns: { 200: Envelope(Type.Object({ secret: Type.String() })) },
  example: {},
  handle: async () => ok('Keep it', { secret: `once-${uuidv7(Date.now())}` }),
})

export const whoAmI = operation({
  route: 'GET /api/probe/me',
  summary: 'Show the caller',
  access: 'user',
  unconfirmed: true,
  returns: { 200: Envelope(Type.Object({ userId: Id })) },
  example: {},
  handle: async ({ caller }) => ok('You', { userId: caller.userId }),
})

let failures = 0

export const failOnce = operation({
  route: 'POST /api/probe/fail-once',
  summary: 'Fail the first time',
  access: 'user',
  returns: { 200: Done },
  errors: [Conflict],
  example: {},
  handle: async () => {
    failures += 1
    if (failures === 1) throw Conflict()
    return done('This time it went well')
  },
})

export const nothing = operation({
  route: 'DELETE /api/probe/nothing',
  summary: 'Do nothing',
  access: 'public',
  returns: { 200: null },
  example: {},
  handle: async () => empty(),
})

export const mailSomebody = operation({
  route: 'POST /api/probe/mail',
  summary: 'Send a mail',
  access: 'public',
  limit: 'mail',
  returns: { 200: Done },
  example: {},
  handle: async () => done('Sent'),
})

export const wrongBody = operation({
  route: 'GET /api/probe/wrong-body',
  summary: 'Return a reply that violates the schema',
  access: 'public',
  returns: { 200: Envelope(Type.Object({ count: Type.Integer() })) },
  example: {},
  handle: async () => ok('Wrong', { count: 'three' as unknown as number }),
})

export const wrongError = operation({
  route: 'GET /api/probe/wrong-error',
  summary: 'Raise an error that is not declared',
  access: 'public',
  returns: { 200: Done },
  example: {},
  handle: async () => {
    throw Conflict()
  },
})

export const crash = operation({
  route: 'GET /api/probe/crash',
  summary: 'Fail with an unexpected error',
  access: 'public',
  returns: { 200: Done },
  example: {},
  handle: async () => {
    throw new Error('the password is hunter2')
  },
})

export const registryOfProbe = {
  probe: {
    createThing,
    listThings,
    getThing,
    renameThing,
    wait,
    secretOnce,
    whoAmI,
    failOnce,
    nothing,
    mailSomebody,
    wrongBody,
    wrongError,
    crash,
  },
  health,
  services,
} satisfies Registry

/** Users and their scopes. A user's token is their name. */
export class ProbeWorld {
  readonly #scopes = new Map<string, ReadonlySet<Scope>>()
  readonly #users = new Map<string, string>()

  /** The id of a user. Any name works. */
  userId(name: string): string {
    const known = this.#users.get(name) ?? uuidv7(Date.now())
    this.#users.set(name, known)
    return known
  }

  allow(name: string, workspaceId: string, scopes: readonly Scope[]): void {
    this.#scopes.set(`${workspaceId}/${this.userId(name)}`, new Set(scopes))
  }

  adapt(composition: Composition): Composition {
    const find = (workspaceId: string, userId: string): Member | undefined => {
      const scopes = this.#scopes.get(`${workspaceId}/${userId}`)
      return scopes && { workspaceId, userId, role: 'tester', scopes, joinedAt: '2026-01-01T00:00:00.000Z' }
    }
    // Turns look members up again, among the same users.
    const turnAuthorizer: TurnAuthorizer = {
      prepare: async () => undefined,
      member: (operation, { userId }, turn) => {
        const member = find(turn.workspaceId, userId)
        if (member === undefined) throw NotFound()
        requireScope(member, operation.access)
        return member
      },
    }
    Object.assign(composition.turnAuthorizer, turnAuthorizer)
    return {
      ...composition,
      owners: {
        workspaceOf: async (resource, id) => {
          if (resource !== 'probe_things') return composition.owners.workspaceOf(resource, id)
          if (!isUuid(id)) return undefined
          const query = 'select workspace_id from probe_things where id = $1'
          return (await things?.row<{ workspace_id: string }>(query, [id]))?.workspace_id
        },
        lookup: (name, value, userId) => composition.owners.lookup(name, value, userId),
      },
      authenticator: {
        used: () => undefined,
        authenticate: (credential): Caller => {
          const name = credential.kind === 'token' ? credential.token : credential.key
          if (name === 'expired') throw CredentialExpired()
          if (!/^[a-z]+$/.test(name)) throw InvalidCredential()
          const via = credential.kind === 'token' ? 'token' : 'api_key'
          const email = `${name}@example.com`
          // Only the user `unconfirmed` has an unconfirmed address.
          const emailVerified = name !== 'unconfirmed'
          return { userId: this.userId(name), email, isAdmin: name === 'admin', emailVerified, via }
        },
      },
      memberships: { find },
    }
  }
}

export async function startProbe(options: AppOptions = {}): Promise<{ app: App; who: ProbeWorld }> {
  const who = new ProbeWorld()
  const app = await startApp({ ...options, registry: registryOfProbe, adapt: (composition) => who.adapt(composition) })
  await app.database.run(
    'create table probe_things (id uuid primary key, workspace_id uuid not null, name text not null, version int not null)',
  )
  things = app.database
  return { app, who }
}
