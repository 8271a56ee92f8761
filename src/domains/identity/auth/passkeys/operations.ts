import { replyWithTokens } from '../cookie-session.ts'
import { EmailUnverified, NotFound, PreconditionFailed } from '../../../../core/errors.ts'
import { operation } from '../../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../../core/page.ts'
import { created, done, list, ok } from '../../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../../core/schema.ts'
import { SessionCookieRefused, FreshLoginNeeded, TooManyAttempts, WrongPassword } from '../errors.ts'
import { COOKIE_HEADERS, SignedIn } from '../schemas.ts'
import { WrongSecondFactor } from '../second-factor/errors.ts'
import { Proof } from '../second-factor/schemas.ts'
import { PasskeyRefused, TooManyPasskeys } from './errors.ts'
import {
  NewPasskey,
  PasskeyChange,
  PasskeyCreationOptions,
  PasskeyPath,
  PasskeyRequestOptions,
  PasskeySignIn,
  PasskeyView,
} from './schemas.ts'

const id = '0199a2b4-7c1d-7e3f-8a5b-6c7d8e9f0a1b'
const credential = { id: 'dGhlIGlkIG9mIHRoZSBrZXk', rawId: 'dGhlIGlkIG9mIHRoZSBrZXk', type: 'public-key' as const }

export const startPasskeyRegistration = operation({
  route: 'POST /api/auth/passkeys/options',
  summary: 'Start to register a passkey',
  description:
    'Needs a login within the last 10 minutes, or your password, and a code if the second factor is on. The page `/passkey` of this server does all of this. Your own page passes `options` to `PublicKeyCredential.parseCreationOptionsFromJSON()`, calls `navigator.credentials.create()`, and sends the result to POST /api/auth/passkeys.',
  access: 'user',
  body: Proof,
  bodyOptional: true,
  returns: { 200: Envelope(PasskeyCreationOptions) },
  errors: [WrongPassword, FreshLoginNeeded, WrongSecondFactor, TooManyAttempts, TooManyPasskeys],
  example: { body: { password: 'correct horse battery staple' } },
  handle: async ({ auth, body, caller }) =>
    ok('Create the passkey in the browser', await auth.passkeys.creationOptions(caller, body ?? {})),
})

export const registerPasskey = operation({
  route: 'POST /api/auth/passkeys',
  summary: 'Register a passkey',
  description:
    'Each challenge works once, for five minutes. You get a mail. A sign-in with a passkey needs no second factor, because the device has checked a PIN or biometrics.',
  access: 'user',
  body: NewPasskey,
  returns: { 201: Envelope(PasskeyView) },
  errors: [PasskeyRefused, TooManyPasskeys],
  etag: true,
  example: {
    body: {
      name: 'Laptop',
      response: {
        ...credential,
        clientExtensionResults: {},
        response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0', attestationObject: 'o2NmbXRkbm9uZQ' },
      },
    },
  },
  handle: async (context) =>
    created('Passkey registered', await context.auth.passkeys.create(context.caller, context.body, context)),
})

export const listPasskeys = operation({
  route: 'GET /api/auth/passkeys',
  summary: 'List your passkeys',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(PasskeyView) },
  example: {},
  handle: async ({ auth, caller, query }) => list('Passkeys', await auth.passkeys.list(caller, pageRequest(query))),
})

export const getPasskey = operation({
  route: 'GET /api/auth/passkeys/{id}',
  summary: 'Get a passkey',
  access: 'user',
  path: PasskeyPath,
  returns: { 200: Envelope(PasskeyView) },
  errors: [NotFound],
  etag: 'edits',
  example: { path: { id } },
  handle: async ({ auth, caller, path }) => ok('Passkey', await auth.passkeys.get(caller, path.id)),
})

export const renamePasskey = operation({
  route: 'PATCH /api/auth/passkeys/{id}',
  summary: 'Rename a passkey',
  access: 'user',
  path: PasskeyPath,
  body: PasskeyChange,
  returns: { 200: Envelope(PasskeyView) },
  errors: [NotFound, PreconditionFailed],
  etag: 'edits',
  example: { path: { id }, body: { name: 'Old laptop' } },
  handle: async ({ auth, body, caller, ifMatch, path }) =>
    ok('Passkey renamed', await auth.passkeys.rename(caller, path.id, body.name, ifMatch)),
})

export const deletePasskey = operation({
  route: 'DELETE /api/auth/passkeys/{id}',
  summary: 'Delete a passkey',
  description:
    'Needs a login within the last 10 minutes, or your password, and a code if the second factor is on. The passkey stops working at once, and all other sessions that were started with a passkey end. You get a mail. Delete it on the device too, which cannot be done from here.',
  access: 'user',
  path: PasskeyPath,
  body: Proof,
  bodyOptional: true,
  returns: { 200: Done },
  errors: [NotFound, WrongPassword, FreshLoginNeeded, WrongSecondFactor, TooManyAttempts],
  example: { path: { id }, body: { password: 'correct horse battery staple' } },
  handle: async ({ auth, body, caller, path }) => {
    await auth.passkeys.delete(caller, path.id, body ?? {})
    return done('Passkey deleted')
  },
})

export const startPasskeySignIn = operation({
  route: 'POST /api/auth/passkeys/sign-in/options',
  summary: 'Start a sign-in with a passkey',
  description:
    'The page `/passkey` of this server does all of this. Your own page passes `options` to `PublicKeyCredential.parseRequestOptionsFromJSON()`, calls `navigator.credentials.get()`, and sends the result to POST /api/auth/passkeys/sign-in. The user chooses the passkey, so no email address is needed.',
  access: 'public',
  limit: 'auth',
  returns: { 200: Envelope(PasskeyRequestOptions) },
  example: {},
  handle: async ({ auth }) => ok('Ask the browser for a passkey', await auth.passkeys.requestOptions()),
})

export const signInWithPasskey = operation({
  route: 'POST /api/auth/passkeys/sign-in',
  summary: 'Sign in with a passkey',
  description: 'Each challenge works once, for five minutes.',
  access: 'public',
  limit: 'auth',
  body: PasskeySignIn,
  ownPage: true,
  returns: { 200: Envelope(SignedIn) },
  headers: COOKIE_HEADERS,
  errors: [SessionCookieRefused, PasskeyRefused, EmailUnverified],
  example: {
    body: {
      response: {
        ...credential,
        clientExtensionResults: {},
        response: {
          clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0',
          authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4',
          signature: 'MEUCIQDk',
        },
      },
    },
  },
  handle: async ({ auth, body, ownPage, remoteAddress, userAgent }) =>
    replyWithTokens({ body, ownPage }, () => auth.passkeys.signIn(body.response, { remoteAddress, userAgent })),
})
