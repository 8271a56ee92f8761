import { defineError } from '../../../core/error.ts'

export const WrongLogin = defineError({
  code: 'wrong_login',
  status: 401,
  message: 'Email address or password is wrong.',
  cause: 'There is no account with this address and this password. Which of the two is wrong is never told.',
  fix: 'Correct them, or reset the password with POST /api/auth/forgot-password.',
})
export const TooManyAttempts = defineError({
  code: 'too_many_attempts',
  status: 429,
  message: 'Too many failed attempts at this address.',
  cause:
    'After several failures in a row an address is locked for a time that doubles with each, up to 15 minutes. Unknown addresses lock alike. Failures on networks and devices that the account is known to use are counted apart.',
  fix: 'Wait as many seconds as Retry-After says, or send the `deviceToken` of an earlier sign-in. A password reset ends the lock too.',
})
export const WrongCode = defineError({
  code: 'wrong_code',
  status: 400,
  message: 'The code is wrong, was used, or has expired.',
  cause: 'A code works for 10 minutes and 5 tries, for the address that it was mailed to, and only the newest works.',
  fix: 'Check the newest mail, or ask for another code with POST /api/auth/resend-otp.',
})
export const InvalidResetToken = defineError({
  code: 'invalid_reset_token',
  status: 400,
  message: 'The reset token is wrong, was used, or has expired.',
  cause: 'A reset token works once, within 30 minutes.',
  fix: 'Ask for another with POST /api/auth/forgot-password.',
})
export const InvalidRefreshToken = defineError({
  code: 'invalid_refresh_token',
  status: 401,
  message: 'The refresh token is not valid.',
  cause: 'It is malformed, its session was ended, or it was not used for 30 days.',
  fix: 'Log in again.',
})
export const RefreshTokenReused = defineError({
  code: 'refresh_token_reused',
  status: 401,
  message: 'The refresh token was used before; its session has been ended.',
  cause:
    'Each refresh token works once. One that comes again after its successor may have been copied, so all tokens of the session are revoked.',
  fix: 'Log in again. Keep only the newest refresh token, and share it between the tabs of one browser.',
})
export const ProviderNotConfigured = defineError({
  code: 'provider_not_configured',
  status: 404,
  message: 'Sign-in with this provider is not set up here.',
  cause: 'The operator of this service has configured no such provider.',
  fix: 'Use another way to sign in; operators set the client id of the provider (see .env.example).',
})
export const ProviderSignInFailed = defineError({
  code: 'provider_sign_in_failed',
  status: 401,
  message: 'The provider’s proof of who you are was not accepted.',
  cause: 'The ID token or code is expired, used, forged, or was made for another application or nonce.',
  fix: 'Start the sign-in at the provider again. The message says what was wrong.',
})
export const ProviderEmailUnverified = defineError({
  code: 'provider_email_unverified',
  status: 403,
  message: 'The provider does not vouch for your email address.',
  cause:
    'An account is made or linked only for an address that the provider has verified. Microsoft says so of work accounts only when the optional claim xms_edov is configured.',
  fix: 'Verify your address with the provider, or sign up with email and password.',
})
export const ProviderUnavailable = defineError({
  code: 'provider_unavailable',
  status: 503,
  message: 'The sign-in provider does not answer properly right now.',
  cause: 'The provider is down, answers too slowly, or refuses this service’s own credentials.',
  fix: 'Try again after Retry-After seconds, or sign in another way.',
})
