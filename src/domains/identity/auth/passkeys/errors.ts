import { defineError } from '../../../../core/error.ts'

export const TooManyPasskeys = defineError({
  code: 'too_many_passkeys',
  status: 409,
  message: 'The account already has 20 passkeys, which is the maximum. Delete one that is no longer used.',
  cause: 'An account can have 20 passkeys.',
  fix: 'Delete a passkey that is no longer used. GET /api/auth/passkeys shows when each was last used.',
})
export const PasskeyRefused = defineError({
  code: 'passkey_refused',
  status: 403,
  message: 'The passkey was not accepted. Get new options and try again, or sign in another way.',
  cause:
    'The passkey does not belong to an account here, was deleted, or its reply does not fit the challenge: the challenge has expired after 5 minutes or was used before, or the page has an origin that PUBLIC_URL, CORS_ORIGINS and PASSKEY_DOMAIN do not name.',
  fix: 'Get new options and ask the browser again. Sign in another way if the passkey was deleted.',
})
