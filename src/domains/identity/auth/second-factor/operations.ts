import { replyWithTokens } from '../cookie-session.ts'
import { Conflict, NotFound } from '../../../../core/errors.ts'
import { EXAMPLE } from '../../../../core/example-ids.ts'
import { operation } from '../../../../core/operation.ts'
import { done, ok } from '../../../../core/reply.ts'
import { Done, Envelope } from '../../../../core/schema.ts'
import { SessionCookieRefused, FreshLoginNeeded, TooManyAttempts, WrongPassword } from '../errors.ts'
import { COOKIE_HEADERS, SignedIn } from '../schemas.ts'
import { SignInExpired, WrongSecondFactor } from './errors.ts'
import {
  Confirmation,
  EnrolmentView,
  Proof,
  RecoveryCodesView,
  Reset,
  SecondFactorSignInBody,
  SecondFactorView,
  UserPath,
} from './schemas.ts'

const PROOF_ERRORS = [WrongPassword, FreshLoginNeeded, WrongSecondFactor, TooManyAttempts]
const password = 'correct horse battery staple'

export const completeSignIn = operation({
  route: 'POST /api/auth/second-factor',
  summary: 'Complete a sign-in with the second factor',
  description:
    'For accounts with an authenticator app, sign-ins with a password or a provider end with 403 `second_factor_required`, and `details.challenge` names the sign-in. Send it here with a code. A challenge is valid for five minutes and for one sign-in. Each code works once. After five wrong codes in a row, codes are locked for 1 s, then 2, 4, 8 … up to 15 min. Known networks and devices are counted separately.',
  access: 'public',
  limit: 'auth',
  body: SecondFactorSignInBody,
  ownPage: true,
  returns: { 200: Envelope(SignedIn) },
  headers: COOKIE_HEADERS,
  errors: [SessionCookieRefused, SignInExpired, WrongSecondFactor, TooManyAttempts],
  example: { body: { challenge: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIwMTkzOWU1YyJ9.c2lnbmF0dXJl', code: '123456' } },
  handle: async ({ auth, body, ownPage, remoteAddress, userAgent }) =>
    replyWithTokens({ body, ownPage }, () => auth.signInGate.complete(body, { remoteAddress, userAgent })),
})

export const getSecondFactor = operation({
  route: 'GET /api/auth/totp',
  summary: 'Get the state of your second factor',
  access: 'user',
  returns: { 200: Envelope(SecondFactorView) },
  example: {},
  handle: async ({ auth, caller }) => ok('Second factor', await auth.secondFactors.get(caller)),
})

export const enrolSecondFactor = operation({
  route: 'POST /api/auth/totp',
  summary: 'Enrol an authenticator app',
  description:
    'Needs your password, or a login within the last 10 minutes. Sign-ins do not need a code until POST /api/auth/totp/confirm has received the first one. An enrolment that was not confirmed is replaced.',
  access: 'user',
  body: Proof,
  bodyOptional: true,
  returns: { 200: Envelope(EnrolmentView) },
  errors: [Conflict, ...PROOF_ERRORS],
  example: { body: { password } },
  handle: async ({ auth, body, caller }) =>
    ok('Scan the QR code and confirm with a code', await auth.secondFactors.enrol(caller, body ?? {})),
})

export const confirmSecondFactor = operation({
  route: 'POST /api/auth/totp/confirm',
  summary: 'Turn the second factor on with a code of the app',
  description:
    'Ends all other sessions. The reply shows ten recovery codes once: each works once in place of a code of the app. API keys work as before, and a passkey needs no second factor.',
  access: 'user',
  body: Confirmation,
  returns: { 200: Envelope(RecoveryCodesView) },
  errors: [Conflict, WrongSecondFactor, TooManyAttempts],
  example: { body: { code: '123456' } },
  handle: async ({ auth, body, caller }) =>
    ok('The second factor is on', await auth.secondFactors.confirm(caller, body.code)),
})

export const disableSecondFactor = operation({
  route: 'DELETE /api/auth/totp',
  summary: 'Turn the second factor off',
  description:
    'Needs a login within the last 10 minutes, or your password and a code. The recovery codes stop working. Without the app, sign in with a recovery code first.',
  access: 'user',
  body: Proof,
  bodyOptional: true,
  returns: { 200: Done },
  errors: [Conflict, ...PROOF_ERRORS],
  example: { body: { password, code: '123456' } },
  handle: async ({ auth, body, caller }) => {
    await auth.secondFactors.disable(caller, body ?? {})
    return done('The second factor is off')
  },
})

export const renewRecoveryCodes = operation({
  route: 'POST /api/auth/totp/recovery-codes',
  summary: 'Replace your recovery codes',
  description: 'Needs a login within the last 10 minutes, or your password and a code. The earlier codes stop working.',
  access: 'user',
  body: Proof,
  bodyOptional: true,
  returns: { 200: Envelope(RecoveryCodesView) },
  errors: [Conflict, ...PROOF_ERRORS],
  example: { body: { password, code: '123456' } },
  handle: async ({ auth, body, caller }) =>
    ok('New recovery codes', await auth.secondFactors.renewRecoveryCodes(caller, body ?? {})),
})

export const resetSecondFactor = operation({
  route: 'POST /api/users/{id}/second-factor/reset',
  summary: 'Turn off the second factor of a user',
  description:
    'For people who have lost their app and their recovery codes. Check who they are first. The person gets a mail, and the audit log of each of their workspaces gets an entry with the reason. Password, passkeys and sessions stay.',
  access: 'admin',
  path: UserPath,
  body: Reset,
  returns: { 200: Done },
  errors: [NotFound, Conflict],
  example: { path: { id: EXAMPLE.userId }, body: { reason: 'Lost the phone. Identity checked in a video call.' } },
  handle: async (context) => {
    const { auth, body, caller, path } = context
    await auth.secondFactors.reset(caller, path.id, body.reason, context)
    return done('The second factor of the user is off')
  },
})
