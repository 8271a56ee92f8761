import { defineError } from '../../../core/error.ts'

export const PublicTestUnconfirmed = defineError({
  code: 'public_test_unconfirmed',
  status: 409,
  message: 'The platform may show the test to viewers. Send "confirmPublic": true to test it anyway.',
  cause: 'The destination is one of a platform that may show whatever arrives with this key to viewers at once.',
  fix: 'Send `"confirmPublic": true`, or test with a key of a private or unlisted broadcast.',
})
