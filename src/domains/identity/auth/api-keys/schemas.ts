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
const Name = Text(1, 100, { description: 'What the key is for' })
const Scopes = Type.Array(ScopeName, {
  minItems: 1,
  maxItems: ALL_SCOPES.length,
  uniqueItems: true,
  description: 'What the key may do, as far as you may yourself; null for all that you may',
})
const WorkspaceIds = Type.Array(Id, {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: 'Where the key works; null for all of your workspaces',
})
const ExpiresAt = { ...InstantInput, description: 'When the key stops working, within ten years; null for never' }

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
  isDefault: Type.Boolean({ description: 'The key of sign-up, which POST /api/users/me/api-key replaces' }),
  scopes: Nullable(Type.Array(ScopeName, { description: 'Null: all that its user may' })),
  workspaceIds: Nullable(Type.Array(Id, { description: 'Null: all workspaces of its user' })),
  expiresAt: Nullable(Timestamp),
  lastUsedAt: Nullable(Timestamp),
  lastUsedAddress: Nullable(Type.String({ description: 'Where the last request came from; a minute late at most' })),
  version: Type.Integer(),
}

export const ApiKeyView = named('ApiKeyInfo', Type.Object(apiKey))

const key = Type.String({ description: 'The API key. It is shown this once' })

export const CreatedApiKey = named('CreatedApiKey', Type.Object({ ...apiKey, apiKey: key }))
export const RegeneratedApiKey = named('ApiKey', Type.Object({ apiKey: key, apiKeyPrefix: Type.String() }))
