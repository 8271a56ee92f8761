import { uuidv7 } from '../../src/tools/id.ts'
import type { Scope } from '../../src/core/scope.ts'
import type { PlanName } from '../../src/domains/money/plans/index.ts'
import type { App } from './app.ts'

export interface SeededUser {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly password: string
  readonly apiKey: string
}

export const PASSWORD = 'correct horse battery staple'

/** Creates a user with a confirmed address. */
export async function seedUser(
  app: App,
  name: string,
  options: { readonly admin?: boolean; readonly plan?: PlanName } = {},
): Promise<SeededUser> {
  const email = `${name}@example.com`
  const signedUp = await app.send('POST /api/auth/signup', { body: { email, password: PASSWORD, name } })
  if (signedUp.status !== 201) throw new Error(`${name} could not sign up: ${signedUp.text}`)
  await app.send('POST /api/auth/verify-otp', { body: { email, otp: await app.outbox.code(email) } })
  const id: string = signedUp.body.user._id
  if (options.admin) await app.database.run('update users set is_admin = true where id = $1', [id])
  if (options.plan) await app.composition.services.plans.change(id, options.plan)
  return { id, name, email, password: PASSWORD, apiKey: signedUp.body.user.apiKey }
}

/** Says who the invoices of a user are for, as a purchase needs it. */
export async function seedBillingProfile(
  app: App,
  { apiKey, name }: Pick<SeededUser, 'apiKey' | 'name'>,
  country = app.config.SELLER_COUNTRY ?? 'US',
): Promise<void> {
  const address = { street: '1 Main Street', postalCode: '10115', city: 'Springfield' }
  const body = { kind: 'person', name, ...address, country, vatNumber: null }
  const saved = await app.send('PUT /api/billing/profile', { apiKey, body })
  if (saved.status !== 200) throw new Error(`the billing profile of ${name} could not be saved: ${saved.text}`)
}

export async function seedWorkspace(app: App, name: string, owner: SeededUser): Promise<string> {
  const made = await app.send('POST /api/workspaces', {
    apiKey: owner.apiKey,
    body: { name, timezone: 'Europe/Berlin' },
  })
  if (made.status !== 201) throw new Error(`the workspace ${name} could not be made: ${made.text}`)
  return made.body.data._id
}

/** Adds a member. `scopes` creates a custom role with exactly these scopes; the same user keeps the same role. */
export async function seedMember(
  app: App,
  workspaceId: string,
  user: SeededUser,
  as: { readonly role: string } | { readonly scopes: readonly Scope[] },
): Promise<void> {
  const now = new Date(app.clock.now())
  const roleId = 'scopes' in as ? await seedRole(app, workspaceId, `role of ${user.name}`, as.scopes, now) : null
  await app.database.run(
    `insert into workspace_members (workspace_id, user_id, role, role_id, joined_at, updated_at)
     values ($1, $2, $3, $4, $5, $5)
     on conflict (workspace_id, user_id) do update set role = excluded.role, role_id = excluded.role_id`,
    [workspaceId, user.id, 'role' in as ? as.role : null, roleId, now],
  )
  app.composition.services.workspaces.memberships.changed(workspaceId)
}

async function seedRole(
  app: App,
  workspaceId: string,
  name: string,
  scopes: readonly Scope[],
  now: Date,
): Promise<string> {
  const row = await app.database.row<{ id: string }>(
    `insert into roles (id, workspace_id, name, scopes, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)
     on conflict (workspace_id, name) do update set scopes = excluded.scopes, version = roles.version + 1 returning id`,
    [uuidv7(now.getTime()), workspaceId, name, scopes, now],
  )
  if (row === undefined) throw new Error(`the role ${name} could not be made`)
  return row.id
}
