import { NotFound, PreconditionFailed } from '../../../../core/errors.ts'
import { operation } from '../../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../../core/page.ts'
import { created, done, list, ok } from '../../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../../core/schema.ts'
import { ApiKeyChange, ApiKeyPath, ApiKeyView, CreatedApiKey, NewApiKeyInput, RegeneratedApiKey } from './schemas.ts'
import { TooManyApiKeys } from './errors.ts'

const id = '0199a2b4-7c1d-7e3f-8a5b-6c7d8e9f0a1b'

export const createApiKey = operation({
  route: 'POST /api/users/me/api-keys',
  summary: 'Create an API key',
  description:
    'The reply shows the key once. The key can do what you can, within its `scopes` and `workspaceIds`. A key with such limits can read your profile, list workspaces, and act in workspaces only.',
  access: 'user',
  body: NewApiKeyInput,
  returns: { 201: Envelope(CreatedApiKey) },
  errors: [TooManyApiKeys],
  etag: true,
  example: { body: { name: 'Nightly import', scopes: ['media:read', 'media:write'], expiresAt: null } },
  handle: async (context) =>
    created('API key created', await context.auth.apiKeys.create(context.caller, context.body, context)),
})

export const listApiKeys = operation({
  route: 'GET /api/users/me/api-keys',
  summary: 'List your API keys',
  description: 'Newest first, with the time and address of their last use. The keys themselves are never shown again.',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(ApiKeyView) },
  example: { query: { limit: 30 } },
  handle: async ({ auth, caller, query }) => list('API keys', await auth.apiKeys.list(caller, pageRequest(query))),
})

export const getApiKey = operation({
  route: 'GET /api/users/me/api-keys/{id}',
  summary: 'Get an API key',
  access: 'user',
  path: ApiKeyPath,
  returns: { 200: Envelope(ApiKeyView) },
  errors: [NotFound],
  etag: 'edits',
  example: { path: { id } },
  handle: async ({ auth, caller, path }) => ok('API key', await auth.apiKeys.get(caller, path.id)),
})

export const updateApiKey = operation({
  route: 'PATCH /api/users/me/api-keys/{id}',
  summary: 'Update an API key',
  description: 'The change takes effect at once on every node.',
  access: 'user',
  path: ApiKeyPath,
  body: ApiKeyChange,
  returns: { 200: Envelope(ApiKeyView) },
  errors: [NotFound, PreconditionFailed],
  etag: 'edits',
  example: { path: { id }, body: { name: 'Weekly import', scopes: ['media:read'] } },
  handle: async (context) => {
    const { auth, body, caller, ifMatch, path } = context
    return ok('API key changed', await auth.apiKeys.update(caller, path.id, body, ifMatch, context))
  },
})

export const revokeApiKey = operation({
  route: 'DELETE /api/users/me/api-keys/{id}',
  summary: 'Revoke an API key',
  description: 'The key stops working at once on every node.',
  access: 'user',
  path: ApiKeyPath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id } },
  handle: async (context) => {
    await context.auth.apiKeys.revoke(context.caller, context.path.id, context)
    return done('API key revoked')
  },
})

export const regenerateApiKey = operation({
  route: 'POST /api/users/me/api-key',
  summary: 'Regenerate your default API key',
  description:
    'The reply shows the new key once. The key of the sign-up, or the last one made here, stops working at once on every node. Other API keys stay valid.',
  access: 'user',
  returns: { 200: Envelope(RegeneratedApiKey) },
  example: {},
  handle: async (context) => ok('New API key', await context.auth.apiKeys.regenerate(context.caller, context)),
})
