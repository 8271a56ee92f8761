import { defineError } from '../../../core/error.ts'

export const PlatformNotConfigured = defineError({
  code: 'platform_not_configured',
  status: 409,
  message: 'This platform is not set up on this server.',
  cause: 'The platform requires an app that the operator registers, and its client ID and secret are not set.',
  fix: 'The operator registers an app at the platform and sets the two settings that the message names.',
})
export const AccountNotConnected = defineError({
  code: 'account_not_connected',
  status: 409,
  message: 'The account cannot be used at the moment.',
  cause: 'The account was removed, archived or suspended, or the platform no longer accepts its access.',
  fix: 'Do what the message says: restore the account, or connect it again.',
})
export const AccountMismatch = defineError({
  code: 'account_mismatch',
  status: 409,
  message: 'This is a different account.',
  cause: 'An account was to be connected again, but the user signed in at the platform with another one.',
  fix: 'Sign out at the platform, sign in with the account that the message names, and try again.',
})
export const PlatformRefused = defineError({
  code: 'platform_refused',
  status: 409,
  message: 'The platform refused the request.',
  cause: 'The platform does not accept the credential, a right is missing, or it has restricted the account.',
  fix: '`details` has the kind of the error, and the platform’s own code and text. The message says what to do.',
})
export const PlatformUnavailable = defineError({
  code: 'platform_unavailable',
  status: 503,
  message: 'The platform does not respond at the moment.',
  cause: 'The platform could not be reached, has an outage, or limits how often it can be called.',
  fix: 'Try again after the time in Retry-After.',
})
export const NotSupported = defineError({
  code: 'not_supported_by_platform',
  status: 400,
  message: 'The platform does not have this function.',
  cause: 'The operation exists for other platforms, or for another way of connecting.',
  fix: 'GET /api/platforms says what each platform supports.',
})
