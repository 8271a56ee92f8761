import { defineError } from '../../../core/error.ts'

export const WrongLogin = defineError({
  code: 'wrong_login',
  status: 401,
  message:
    'The email address or password is wrong. Check both, or reset the password with POST /api/auth/forgot-password.',
  cause:
    'There is no account with this email address and password. The reply does not reveal which of the two is wrong.',
  fix: 'Correct them, or reset the password with POST /api/auth/forgot-password.',
})
export const WrongPassword = defineError({
  code: 'wrong_password',
  status: 403,
  message:
    'The password is wrong. Correct it, or log in again and repeat the request within 10 minutes without `password`.',
  cause: 'The operation needs your password, and this is another one, or the account has none.',
  fix: 'Correct it. Without a password, log in again and repeat the request within 10 minutes without `password`.',
})
export const FreshLoginNeeded = defineError({
  code: 'fresh_login_needed',
  status: 403,
  message:
    'This operation needs a recent login. Send `password`, or log in again and repeat the request within 10 minutes.',
  cause: 'The operation needs your password, or an access token from a login within the last 10 minutes.',
  fix: 'Send `password`, or log in and repeat the request. An API key is not a login.',
})
export const TooManyAttempts = defineError({
  code: 'too_many_attempts',
  status: 429,
  message: 'Too many failed attempts for this email address. Wait for the number of seconds in Retry-After.',
  cause:
    'After several consecutive failures an address is locked. The time doubles with each failure, up to 15 minutes. Addresses without an account are locked in the same way. Failures from known networks and devices of the account are counted separately.',
  fix: 'Wait for the number of seconds in Retry-After. For a password, you can also send the `deviceToken` of an earlier sign-in, or reset the password. For an authenticator app, send the current code. A mailed code can be requested again in the meantime.',
})
export const WrongCode = defineError({
  code: 'wrong_code',
  status: 400,
  message:
    'The code is wrong, was already used, or has expired. Check the newest email, or request a new code with POST /api/auth/resend-otp.',
  cause:
    'A code is valid for 10 minutes and 5 attempts, and only for the address that it was sent to. Only the newest code works.',
  fix: 'Check the newest mail, or request another code with POST /api/auth/resend-otp.',
})
export const InvalidResetToken = defineError({
  code: 'invalid_reset_token',
  status: 400,
  message:
    'The reset token is wrong, was already used, or has expired. Request a new one with POST /api/auth/forgot-password.',
  cause: 'A reset token works once, within 30 minutes.',
  fix: 'Request another token with POST /api/auth/forgot-password.',
})
export const InvalidRefreshToken = defineError({
  code: 'invalid_refresh_token',
  status: 401,
  message: 'The refresh token is not valid. Log in again.',
  cause: 'The token is malformed, its session has ended, or it was not used for 30 days.',
  fix: 'Log in again.',
})
export const SessionCookieRefused = defineError({
  code: 'session_cookie_refused',
  status: 403,
  message:
    'Only pages of this server get a session in a cookie, over HTTPS or at localhost. Other clients leave out `session` and get the refresh token in the body.',
  cause:
    'The request asks for `"session": "cookie"`, but `Origin` is not the host of the request, or `Sec-Fetch-Site` is not `same-origin`. Browsers send both by themselves, the second one only over HTTPS and to localhost.',
  fix: 'Send the request from a page of this server, over HTTPS or at localhost. Other clients leave out `session`. A proxy must pass `Host`, `Origin` and `Sec-Fetch-Site` on.',
})
export const RefreshTokenReused = defineError({
  code: 'refresh_token_reused',
  status: 401,
  message:
    'The refresh token was already used, so its session was ended. Log in again, and always use the newest refresh token.',
  cause:
    'Each refresh token works once. A token that is used again may have been copied, so all tokens of the session were revoked.',
  fix: 'Log in again. Keep only the newest refresh token, and share it between the tabs of one browser.',
})
export const ProviderNotConfigured = defineError({
  code: 'provider_not_configured',
  status: 404,
  message: 'Sign-in with this provider is not configured. Sign in another way.',
  cause: 'The operator of this service has not configured the provider.',
  fix: 'Sign in another way. Operators can configure the client id of the provider (see .env.example).',
})
export const ProviderSignInFailed = defineError({
  code: 'provider_sign_in_failed',
  status: 401,
  message: 'The ID token or code of the provider was not accepted. Start the sign-in at the provider again.',
  cause:
    'The ID token or code has expired, was already used, is forged, or was issued for another application or nonce.',
  fix: 'Start the sign-in at the provider again. The message describes the problem.',
})
export const ProviderEmailUnverified = defineError({
  code: 'provider_email_unverified',
  status: 403,
  message: 'The provider has not verified your email address. Verify it there, or sign up with email and password.',
  cause:
    'An account is created or linked only if the provider has verified the address. For Microsoft work accounts, this requires the optional claim xms_edov.',
  fix: 'Verify your address with the provider, or sign up with email and password.',
})
export const ProviderUnavailable = defineError({
  code: 'provider_unavailable',
  status: 503,
  message: 'The sign-in provider is currently unavailable.',
  cause: 'The provider is down, responds too slowly, or rejects the credentials of this service.',
  fix: 'Try again after Retry-After seconds, or sign in another way.',
})
