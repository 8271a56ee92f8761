import {
  Id,
  Input,
  named,
  Nullable,
  ResourceBase,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../../core/schema.ts'
import { SessionIn } from '../schemas.ts'

const Base64Url = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$', description: `${description}, in base64url` })

const credential = {
  id: Base64Url(1_400, 'The id of the credential'),
  rawId: Base64Url(1_400, 'The same as `id`'),
  type: Type.Literal('public-key'),
  authenticatorAttachment: Type.Optional(Nullable(Text(1, 50))),
  clientExtensionResults: Type.Record(Type.String(), Type.Unknown(), { maxProperties: 50 }),
}
const clientDataJSON = Base64Url(10_000, 'The challenge and the origin of the page, as the browser reports them')

/** `PublicKeyCredential.toJSON()` after `navigator.credentials.create()`. Browsers add fields to it over time. */
export const RegistrationResponse = Type.Object({
  ...credential,
  response: Type.Object({
    clientDataJSON,
    attestationObject: Base64Url(100_000, 'The new public key'),
    transports: Type.Optional(Type.Array(Text(1, 50), { maxItems: 20 })),
  }),
})

/** `PublicKeyCredential.toJSON()` after `navigator.credentials.get()`. */
export const AuthenticationResponse = Type.Object({
  ...credential,
  response: Type.Object({
    clientDataJSON,
    authenticatorData: Base64Url(10_000, 'What the authenticator checked'),
    signature: Base64Url(10_000, 'The signature of both'),
    userHandle: Type.Optional(Nullable(Base64Url(100, 'The id of the user'))),
  }),
})

const Name = Text(1, 100, { description: 'How the user recognizes the passkey' })

/** What browsers send and get: WebAuthn defines its fields, so the API passes it on. */
const BrowserJson = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { maxProperties: 50, description })

export const NewPasskey = Input({
  name: Type.Optional({ ...Name, description: 'How the user recognizes the passkey. Default: the device' }),
  response: BrowserJson(
    '`toJSON()` of the credential that the browser has created (WebAuthn, RegistrationResponseJSON)',
  ),
})
export type NewPasskeyData = Static<typeof NewPasskey>

export const PasskeySignIn = Input({
  response: BrowserJson(
    '`toJSON()` of the credential that the browser returned (WebAuthn, AuthenticationResponseJSON)',
  ),
  session: SessionIn,
})

export const PasskeyChange = Input({ name: Name })
export const PasskeyPath = Input({ id: Id })

export const PasskeyView = named(
  'Passkey',
  Type.Object({
    ...ResourceBase,
    name: Type.String(),
    backedUp: Type.Boolean({ description: 'Whether the passkey is copied to other devices of its user' }),
    lastUsedAt: Nullable(Timestamp),
    version: Type.Integer(),
  }),
)

const expiresAt = { ...Timestamp, description: 'The challenge works until then, once' }

export const PasskeyCreationOptions = named(
  'PasskeyCreationOptions',
  Type.Object({
    options: BrowserJson('For `PublicKeyCredential.parseCreationOptionsFromJSON()`'),
    expiresAt,
  }),
)

export const PasskeyRequestOptions = named(
  'PasskeyRequestOptions',
  Type.Object({
    options: BrowserJson('For `PublicKeyCredential.parseRequestOptionsFromJSON()`'),
    expiresAt,
  }),
)
