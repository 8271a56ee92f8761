import type { AnyOperation } from '../../src/core/operation.ts'
import type { Scope } from '../../src/core/scope.ts'
import type { PlanName } from '../../src/domains/money/plans/index.ts'
import type { App } from './app.ts'
import type { Reply, SendOptions } from './send.ts'
import { seedBillingProfile, seedMember, seedUser, seedWorkspace, type SeededUser } from './seed.ts'

/**
 * The users and workspaces of a test, by name:
 *
 *     await world.user('ada')
 *     await world.workspace('acme', 'ada')
 *     await world.member('acme', 'bob', { role: 'editor' })
 *     const reply = await world.as('bob').call(createStream, { body: { workspaceId: world.id('acme'), title: 'Hi' } })
 *
 * Users and memberships are inserted directly; the behavior under test goes through the API.
 */
export class World {
  readonly app: App
  readonly #users = new Map<string, SeededUser>()
  readonly #workspaces = new Map<string, string>()

  /** Whether users can buy something: they have said who their invoices are for. */
  readonly #areBuyers: boolean

  constructor(app: App, { areBuyers = false }: { readonly areBuyers?: boolean } = {}) {
    this.app = app
    this.#areBuyers = areBuyers
  }

  /** A verified user with an API key. The same name returns the same user. */
  async user(
    name: string,
    options: { readonly admin?: boolean; readonly plan?: PlanName; readonly isBuyer?: boolean } = {},
  ): Promise<SeededUser> {
    const known = this.#users.get(name)
    if (known) return known
    const user = await seedUser(this.app, name, options)
    if (options.isBuyer ?? this.#areBuyers) await seedBillingProfile(this.app, user)
    this.#users.set(name, user)
    return user
  }

  /** Creates a workspace, and its owner if needed. @returns the workspace's id */
  async workspace(name: string, owner: string): Promise<string> {
    const user = await this.user(owner)
    const id = await seedWorkspace(this.app, name, user)
    this.#workspaces.set(name, id)
    return id
  }

  /** Adds a member, by role or with exactly these scopes. */
  async member(
    workspace: string,
    user: string,
    as: { readonly role: string } | { readonly scopes: readonly Scope[] } = { role: 'contributor' },
  ): Promise<SeededUser> {
    const seeded = await this.user(user)
    await seedMember(this.app, this.id(workspace), seeded, as)
    return seeded
  }

  /** The id of a user or workspace of this world. */
  id(name: string): string {
    const id = this.#workspaces.get(name) ?? this.#users.get(name)?.id
    if (id === undefined) throw new Error(`there is no user or workspace ${name} in this world`)
    return id
  }

  /** The API key of a user of this world. */
  key(name: string): string {
    const user = this.#users.get(name)
    if (user === undefined) throw new Error(`there is no user ${name} in this world`)
    return user.apiKey
  }

  /** Calls the API as a user of this world. */
  as(name: string): ApiCaller {
    return new ApiCaller(this.app, { apiKey: this.key(name) })
  }

  /** Calls the API without a credential. */
  anonymous(): ApiCaller {
    return new ApiCaller(this.app, {})
  }
}

/** Calls the API with one credential. */
export class ApiCaller {
  readonly #app: App
  readonly #credential: SendOptions

  constructor(app: App, credential: SendOptions) {
    this.#app = app
    this.#credential = credential
  }

  /** @param operation an operation's literal, or its route such as `GET /api/streams/{id}` */
  call(operation: AnyOperation | string, options: SendOptions = {}): Promise<Reply> {
    const route = typeof operation === 'string' ? operation : (operation.route as string)
    return this.#app.send(route, { ...this.#credential, ...options })
  }
}
