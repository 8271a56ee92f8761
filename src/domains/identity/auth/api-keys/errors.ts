import { defineError } from '../../../../core/error.ts'

export const TooManyApiKeys = defineError({
  code: 'too_many_api_keys',
  status: 409,
  message: 'The account already has 50 API keys, which is the maximum. Revoke one that is no longer used.',
  cause: 'An account can have 50 API keys, including expired ones.',
  fix: 'Revoke a key that is no longer used. GET /api/users/me/api-keys shows when each key was last used.',
})
