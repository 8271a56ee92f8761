import { defineError } from '../../../../core/error.ts'

export const TooManyApiKeys = defineError({
  code: 'too_many_api_keys',
  status: 409,
  message: 'The account has as many API keys as it may have.',
  cause: 'An account has 50 API keys at most. Expired ones count.',
  fix: 'Revoke one that is no longer used: GET /api/users/me/api-keys says when each was used last.',
})
