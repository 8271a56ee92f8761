import type { Example } from '../../src/core/operation.ts'
import type { App } from './app.ts'
import type { NameKind } from './example-names.ts'
import { seedMember, seedUser, type SeededUser } from './seed.ts'
import type { SendOptions } from './send.ts'

/** What the `fixtures.ts` of a domain uses, and the types of its exports `rows`, `lists` and `fixtures`. */

/** The environment in which the generated tests send an operation's example. */
export interface Stage {
  readonly app: App
  /** A workspace on a large plan. */
  readonly workspaceId: string
  readonly owner: SeededUser
  /** The caller, who has the scope that the operation needs. */
  readonly caller: SeededUser
}

/** What a fixture changes in the example, beyond the ids that the stage replaces. */
export interface Prepared extends Example {
  /** A different caller. */
  readonly as?: SendOptions
  /** The declared error that is the expected reply; a 2xx when absent. */
  readonly error?: string
  /** The request cannot be repeated, because it uses up its credential. */
  readonly once?: true
}

/** By table that operations name with `owner(table)`: creates a row and returns its id. */
export type Rows = Readonly<Record<string, (stage: Stage) => Promise<string>>>

/** Prepares the example of an operation. */
export type Fixture = (stage: Stage) => Promise<Prepared>

/** Creates `count` rows of a list, and returns what the example must change to list them. */
export type List = (stage: Stage, count: number) => Promise<Prepared>

/** By operation, for those whose example needs preparation. */
export type Fixtures<Operations> = { readonly [Name in keyof Operations]?: Fixture }

/** By list operation. */
export type Lists<Operations> = { readonly [Name in keyof Operations]?: List }

/** A list whose rows are made one by one. */
export function times(makeOne: (stage: Stage) => unknown, prepared: Prepared = {}): List {
  return async (stage, many) => {
    for (let made = 0; made < many; made += 1) await makeOne(stage)
    return prepared
  }
}

let count = 0

/** A unique name. @param kind what it names; the example recorder replaces it by a readable name of this kind */
export function newName(kind: NameKind): string {
  count += 1
  return `${kind}-${count}`
}

export function newAddress(): string {
  return `${newName('person')}@example.com`
}

/** The field of a body that names the workspace. */
export function inWorkspace({ workspaceId }: Stage): { workspaceId: string } {
  return { workspaceId }
}

/** Creates something as the owner of the workspace. @returns its id */
export async function make(stage: Stage, route: string, body: object): Promise<string> {
  const { app, owner, workspaceId } = stage
  const reply = await app.send(route, { apiKey: owner.apiKey, path: { workspaceId }, body })
  if (reply.status !== 201) throw new Error(`${route} for a fixture: ${reply.text}`)
  return reply.body.data._id
}

/** Creates a member without scopes, because callers cannot change members with more scopes than their own. */
export async function member({ app, workspaceId }: Stage): Promise<string> {
  const user = await seedUser(app, newName('person'))
  await seedMember(app, workspaceId, user, { scopes: [] })
  return user.id
}
