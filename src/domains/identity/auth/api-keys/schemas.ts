import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  Text,
  Timestamp,
  Type,
} from '../../../../core/schema.ts'
import { ALL_SCOPES, type Scope } from '../../../../core/scope.ts'

const ScopeName = OneOf(ALL_SCOPES as [Scope, ...Scope[]])
const Name = Text(1, 100, { description: 'What the key is used for' })
const Scopes = Type.Array(ScopeName, {
  minItems: 1,
  maxItems: ALL_SCOPES.length,
  uniqueItems: true,
  description: 'Scopes of the key. It can never do more than you can. Null: all your scopes',
})
const WorkspaceIds = Type.Array(Id, {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: 'Workspaces in which the key works. Null: all your workspaces',
})
const ExpiresAt = { ...InstantInput, description: 'When the key expires, at most ten years from now. Null: never' }

const options = {
  scopes: Type.Optional(Nullable(Scopes)),
  workspaceIds: Type.Optional(Nullable(WorkspaceIds)),
  expiresAt: Type.Optional(Nullable(ExpiresAt)),
}

export const NewApiKeyInput = Input({ name: Name, ...options })
export const ApiKeyChange = Input({ name: Type.Optional(Name), ...options }, { minProperties: 1 })
export const ApiKeyPath = Input({ id: Id })

const apiKey = {
  ...ResourceBase,
  name: Type.String(),
  prefix: Type.String({ description: 'The first characters of the key' }),
  isDefault: Type.Boolean({
    description: 'Whether this is the key of the sign-up, which POST /api/users/me/api-key replaces',
  }),
  scopes: Nullable(Type.Array(ScopeName, { description: 'Null: all scopes of its user' })),
  workspaceIds: Nullable(Type.Array(Id, { description: 'Null: all workspaces of its user' })),
  expiresAt: Nullable(Timestamp),
  lastUsedAt: Nullable(Timestamp),
  lastUsedAddress: Nullable(Type.String({ description: 'Address of the last request. Updated at most once a minute' })),
  version: Type.Integer(),
}

/** What a password reset says of a key: enough to recognize it. */
export const KeptApiKey = Type.Object({
  name: apiKey.name,
  prefix: apiKey.prefix,
  lastUsedAt: apiKey.lastUsedAt,
})

export const ApiKeyView = named('ApiKeyInfo', Type.Object(apiKey))

const key = Type.String({ description: 'The API key. It is shown only once' })

export const CreatedApiKey = named('CreatedApiKey', Type.Object({ ...apiKey, apiKey: key }))
export const RegeneratedApiKey = named('ApiKey', Type.Object({ apiKey: key, apiKeyPrefix: Type.String() }))
