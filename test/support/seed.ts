import type { Scope } from '../../src/core/scope.ts'
import type { App } from './app.ts'

export interface SeededUser {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly password: string
  readonly apiKey: string
}

export const PASSWORD = 'correct horse battery staple'

/** Signs someone up and confirms the address. */
export async function seedUser(
  app: App,
  name: string,
  options: { readonly admin?: boolean; readonly plan?: string } = {},
): Promise<SeededUser> {
  const email = `${name}@example.com`
  const signedUp = await app.send('POST /api/auth/signup', { body: { email, password: PASSWORD, name } })
  if (signedUp.status !== 201) throw new Error(`${name} could not sign up: ${signedUp.text}`)
  await app.send('POST /api/auth/verify-otp', { body: { email, otp: await app.outbox.code(email) } })
  void options
  return { id: signedUp.body.user._id, name, email, password: PASSWORD, apiKey: signedUp.body.user.apiKey }
}

export async function seedWorkspace(app: App, name: string, owner: SeededUser): Promise<string> {
  const made = await app.send('POST /api/workspaces', {
    apiKey: owner.apiKey,
    body: { name, timezone: 'Europe/Berlin' },
  })
  if (made.status !== 201) throw new Error(`the workspace ${name} could not be made: ${made.text}`)
  return made.body.data._id
}

export async function seedMember(
  app: App,
  workspaceId: string,
  user: SeededUser,
  as: { readonly role: string } | { readonly scopes: readonly Scope[] },
): Promise<void> {
  void app
  void workspaceId
  void user
  void as
  throw new Error('there are no workspace members yet')
}
