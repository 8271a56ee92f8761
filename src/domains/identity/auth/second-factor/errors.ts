import { defineError } from '../../../../core/error.ts'

export const SecondFactorRequired = defineError({
  code: 'second_factor_required',
  status: 403,
  message:
    'The account has a second factor. To complete the sign-in, send `details.challenge` and a code from the authenticator app to POST /api/auth/second-factor.',
  cause:
    'The account asks for a second factor. `details.challenge` names the sign-in that waits for it, until `details.expiresAt`.',
  fix: 'Send `challenge` and `code` to POST /api/auth/second-factor. A recovery code works too. A passkey needs no second factor.',
})
export const WrongSecondFactor = defineError({
  code: 'wrong_second_factor',
  status: 403,
  message: 'The code is wrong or was already used. Wait for the next code, and check the clock of the device.',
  cause:
    'A code of an authenticator app is valid for about a minute and works once. A recovery code works once. Codes of an earlier enrolment do not work.',
  fix: 'Wait for the next code, and check the clock of the device. Without the app, send a recovery code.',
})
export const SignInExpired = defineError({
  code: 'sign_in_expired',
  status: 401,
  message: 'The sign-in has expired or was already completed. Start a new one.',
  cause:
    'A sign-in waits five minutes for its second factor and can be completed once. A change of the credentials of the account ends it.',
  fix: 'Start the sign-in again.',
})
