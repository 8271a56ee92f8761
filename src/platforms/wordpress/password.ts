import { Type } from 'typebox'
import { PlatformError } from '../error-kinds.ts'
import type { Credential, Grant, PlatformContext } from '../platform.ts'
import { profileOf } from './profile.ts'
import { discover, refusal, TITLE, type Site } from './site.ts'

export const Fields = Type.Object({
  site: Type.String({
    description: 'The address of the site, such as https://example.com or https://example.com/blog.',
    minLength: 3,
    maxLength: 500,
  }),
  username: Type.String({ description: 'The user name or email address.', minLength: 1, maxLength: 200 }),
  applicationPassword: Type.String({
    description: 'An application password, from Users, Profile, Application Passwords. Not the password of the user.',
    minLength: 8,
    maxLength: 200,
    writeOnly: true,
  }),
})

/** Connects with an application password that the user has created. @throws PlatformError */
export async function connect(
  context: PlatformContext,
  { applicationPassword, site, username }: { site: string; username: string; applicationPassword: string },
): Promise<Grant> {
  const found = await discover(context, site)
  requirePasswords(found)
  return grantOf(context, credentialOf(found, username.trim(), applicationPassword.trim()))
}

/** @throws PlatformError unsupported when the site has no application passwords */
export function requirePasswords({ index, url }: Site): string {
  const page = index.authentication?.['application-passwords']?.endpoints?.authorization
  if (page !== undefined) return page
  throw new PlatformError('unsupported', TITLE, {
    code: 'no_application_passwords',
    detail: `${url} has no application passwords. They need WordPress 5.6 and https, and a security plugin may have switched them off.`,
    mayHaveHappened: false,
  })
}

export function credentialOf({ root, url }: Site, login: string, password: string): Credential {
  return { accessToken: password, login, root, server: url }
}

/** Checks a credential live. @throws PlatformError */
export async function grantOf(context: PlatformContext, credential: Credential): Promise<Grant> {
  try {
    return { profile: await profileOf({ ...context, credential }), credential, scopes: null }
  } catch (error) {
    if (!(error instanceof PlatformError) || error.kind !== 'auth_expired') throw error
    throw refusal(error.code ?? 'password', REASONS[error.code ?? ''] ?? error.detail ?? error.message)
  }
}

const PASSWORD =
  'The site does not accept this user name and password. Use an application password, from Users, Profile, Application Passwords. The password of the user itself does not work.'

/** What the user can do about a refused password. Many sites do not say what is wrong (`rest_not_logged_in`). */
const REASONS: Readonly<Record<string, string>> = {
  incorrect_password: PASSWORD,
  invalid_username: 'The site has no user of this name.',
  invalid_email: 'The site has no user with this email address.',
  rest_not_logged_in: `${PASSWORD} If it is right, the web server of the site may remove the Authorization header.`,
}
