import { pageFields } from '../../../core/page.ts'
import { Id, Input, named, Nullable, ResourceBase, Text, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { AccountStatusSchema } from './status.ts'

export const PlatformKey = Type.String({
  pattern: '^[a-z]{1,20}$',
  description: 'The key of a platform, from GET /api/platforms',
})

export const SocialAccountView = named(
  'SocialAccount',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    platform: PlatformKey,
    remoteId: Type.String({ description: 'The id of the account at the platform' }),
    loginAccountId: Nullable(
      Type.String({
        ...Id,
        description: 'The login that the page or organization belongs to. Null for other accounts',
      }),
    ),
    name: Type.String({ description: 'The display name at the platform' }),
    handle: Nullable(Type.String({ description: 'Without a leading @' })),
    avatarUrl: Nullable(Type.String({ description: 'The picture of the account at the platform' })),
    url: Nullable(Type.String({ description: 'The page of the account at the platform' })),
    kind: Type.String({ description: 'The platform’s term, such as `page`, `person` or `channel`' }),
    status: AccountStatusSchema,
    statusMessage: Nullable(Type.String({ description: 'Why it has this status, and what to do' })),
    scopes: Nullable(
      Type.Array(Type.String(), {
        description: 'The scopes that the platform granted. Null if it does not report them',
      }),
    ),
    missingScopes: Type.Array(
      Type.Object({
        scope: Type.String({ description: 'The platform’s name of the permission' }),
        prevents: Type.String({ description: 'What is not possible without it' }),
      }),
      { description: 'Permissions that the user did not grant' },
    ),
    expiresAt: Nullable(
      Type.String({
        format: 'date-time',
        description: 'When the access ends unless the account is connected again. Null if it does not end',
      }),
    ),
    sandbox: Type.Boolean({ description: 'Whether the account belongs to the sandbox instead of the real platform' }),
    connectedAt: Type.String({ format: 'date-time', description: 'When it was last connected' }),
    checkedAt: Type.String({ format: 'date-time', description: 'When the platform last confirmed the account' }),
    removedAt: Nullable(
      Type.String({
        format: 'date-time',
        description: 'When the account was disconnected. Null while it is connected',
      }),
    ),
  }),
)
export type SocialAccountData = Static<typeof SocialAccountView>

const HistoryEntry = Type.Object({
  status: AccountStatusSchema,
  reason: Nullable(Type.String()),
  actorId: Nullable(Id),
  at: Timestamp,
})

export const SocialAccountDetails = named(
  'SocialAccountDetails',
  Type.Object({
    ...SocialAccountView.properties,
    history: Type.Array(HistoryEntry, { description: 'The last 50 changes of the status, newest first' }),
  }),
)
export type SocialAccountDetailsData = Static<typeof SocialAccountDetails>

export const AccountQuery = Input({
  workspaceId: Id,
  platform: Several(PlatformKey),
  status: Several(AccountStatusSchema),
  q: Type.Optional(Text(1, 100, { description: 'Part of the name or the handle' })),
  ...pageFields,
})

export const AccountPath = Input({ id: Id })

export const NewAccount = Input({
  workspaceId: Id,
  platform: PlatformKey,
  credentials: Type.Optional(
    Type.Record(Type.String({ maxLength: 40 }), Text(1, 2_000), {
      maxProperties: 10,
      description: 'The fields that GET /api/platforms/{platform} lists under `connect.credentials`',
      writeOnly: true,
    }),
  ),
  sandbox: Type.Optional(
    Type.Boolean({
      description: 'Connects a new sandbox account, without consent. Only while the sandbox is on',
    }),
  ),
})
export type NewAccountData = Static<typeof NewAccount>

export const SignInQuery = Input({
  workspaceId: Id,
  redirectUri: Type.Optional(
    Text(1, 500, {
      description:
        'Where the browser goes afterwards, with `account` or `error` in the query: a page on the origin of this server or in CORS_ORIGINS. Without it, Crier shows the result',
    }),
  ),
  handle: Type.Optional(Text(1, 253, { description: 'The user’s handle, for Bluesky' })),
  instance: Type.Optional(
    Text(1, 500, {
      description: 'The server of the account, for Mastodon (mastodon.social), or the site, for WordPress',
    }),
  ),
  accountId: Type.Optional(
    Type.String({ ...Id, description: 'The account to connect again. A different account is refused' }),
  ),
})

export const SignInLink = named(
  'SignInLink',
  Type.Object({
    url: Type.String({ description: 'The link to open in the same browser within ten minutes' }),
    state: Type.String(),
    expiresAt: Timestamp,
  }),
)

export const CreatorInfo = named(
  'CreatorInfo',
  Type.Object({
    limits: Type.Record(Type.String(), Type.Number(), {
      description: 'Limits of this account by rule id. They replace those of GET /api/platforms/{platform}',
    }),
    unavailable: Type.Array(
      Type.Object({
        capability: Type.String({ description: 'The platform’s term, such as `public` or `comments`' }),
        reason: Type.String(),
      }),
      { description: 'What the account cannot do' },
    ),
    details: Type.Record(Type.String(), Type.Unknown(), { description: 'The platform’s own answer' }),
    checkedAt: Type.String({ format: 'date-time', description: 'When the platform answered' }),
    isCurrent: Type.Boolean({ description: 'False if the platform did not respond and this is its last answer' }),
  }),
)
export type CreatorInfoData = Static<typeof CreatorInfo>

const Due = Type.Object({
  postId: Id,
  title: Type.String({ description: 'The beginning of the post’s text' }),
  scheduledFor: Timestamp,
})

export const DisconnectPreview = named(
  'DisconnectPreview',
  Type.Object({
    posts: Type.Array(Due, { description: 'Scheduled posts that disconnecting cancels' }),
    accounts: Type.Array(Type.Object({ accountId: Id, name: Type.String() }), {
      description: 'Pages and organizations of this login. They are disconnected with it',
    }),
    restorable: Type.Boolean({ description: 'Whether the account can be restored within 30 days' }),
    grantMessage: Nullable(
      Type.String({
        description: 'How to end the access at the platform, if disconnecting does not do that. Null if it does',
      }),
    ),
  }),
)
export type DisconnectPreviewData = Static<typeof DisconnectPreview>

/** How this server describes itself to servers of the AT Protocol (RFC 7591; atproto.com/specs/oauth). */
export const ClientMetadata = Type.Object({
  client_id: Type.String({ description: 'The address of this document' }),
  client_name: Type.String(),
  client_uri: Type.String(),
  redirect_uris: Type.Array(Type.String()),
  scope: Type.String(),
  grant_types: Type.Array(Type.String()),
  response_types: Type.Array(Type.String()),
  application_type: Type.String(),
  token_endpoint_auth_method: Type.String(),
  token_endpoint_auth_signing_alg: Type.String(),
  dpop_bound_access_tokens: Type.Boolean(),
  jwks_uri: Type.String(),
})

/** Public keys (RFC 7517). */
export const KeySet = Type.Object({
  keys: Type.Array(
    Type.Object({
      kty: Type.String(),
      crv: Type.String(),
      x: Type.String(),
      y: Type.String(),
      kid: Type.String({ description: 'The id of the key' }),
      alg: Type.String(),
      use: Type.String(),
    }),
    { description: 'The key for new sign-ins first, then the next one and those that accounts still use' },
  ),
})
