import type { App } from './app.ts'
import type { Reply } from './send.ts'

export const PASSWORD = 'correct horse battery staple'

export interface SignedUpPerson {
  readonly id: string
  readonly email: string
  readonly password: string
  readonly apiKey: string
}

export interface SignedInPerson extends SignedUpPerson {
  readonly accessToken: string
  readonly refreshToken: string
}

let count = 0

/** An address that is not yet used in this process. */
export function newAddress(): string {
  count += 1
  return `person${count}.${process.pid}@example.com`
}

/** Signs a user up, without confirming the address. */
export async function signUp(app: App, email = newAddress(), password = PASSWORD): Promise<SignedUpPerson> {
  const { status, body, text } = await app.send('POST /api/auth/signup', { body: { email, password, name: 'Ada' } })
  if (status !== 201) throw new Error(`${email} could not sign up: ${text}`)
  return { id: body.user._id, email, password, apiKey: body.user.apiKey }
}

/** Signs a user up, confirms the address, and returns the tokens. */
export async function signIn(app: App, email?: string): Promise<SignedInPerson> {
  const person = await signUp(app, email)
  const { status, body, text } = await verify(app, person.email, await app.outbox.code(person.email))
  if (status !== 200) throw new Error(`${person.email} could not confirm the address: ${text}`)
  return { ...person, accessToken: body.data.accessToken, refreshToken: body.data.refreshToken }
}

export function verify(app: App, email: string, otp: string): Promise<Reply> {
  return app.send('POST /api/auth/verify-otp', { body: { email, otp } })
}

export function login(app: App, email: string, password: string, headers: Record<string, string> = {}): Promise<Reply> {
  return app.send('POST /api/auth/login', { body: { email, password }, headers })
}

export function refresh(app: App, refreshToken: string): Promise<Reply> {
  return app.send('POST /api/auth/refresh', { body: { refreshToken } })
}

/** The status and error code that a request with an access token or API key gets. */
export async function tryCredential(app: App, credential: { token?: string; apiKey?: string }): Promise<string> {
  const { status, body } = await app.send('GET /api/users/me', credential)
  return status === 200 ? '200' : `${status} ${body.code}`
}
