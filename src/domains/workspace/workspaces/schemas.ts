import { PageQuery } from '../../../core/page.ts'
import {
  Generation,
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  Sequence,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { Several } from '../../../core/several.ts'
import { ALL_SCOPES, type Scope } from '../../../core/scope.ts'
import { TimeZone } from '../../../core/time-zone.ts'

export const WorkspacePath = Input({ workspaceId: Id })

const Name = Text(1, 100, { description: 'Name of the workspace' })
const Logo = Type.String({
  format: 'uri',
  pattern: '^https?://',
  maxLength: 2_000,
  description: 'an http or https URL of an image',
})

const aiSettings = {
  tone: Text(1, 100, { description: 'How captions should sound, such as `friendly` or `dry and short`' }),
  language: Type.String({
    pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$',
    maxLength: 35,
    description: 'a language tag (BCP 47) such as en or pt-BR',
  }),
  hashtagCount: Type.Integer({ minimum: 0, maximum: 30, description: 'Number of hashtags in a caption' }),
  bannedWords: Type.Array(Text(1, 60), {
    maxItems: 200,
    uniqueItems: true,
    description: 'Words that generated text never contains',
  }),
  emoji: OneOf(['none', 'few', 'many'], { description: 'How many emoji to use' }),
  model: Nullable(Text(1, 100, { description: 'Model of the AI provider. Null uses the default' })),
  creditLimitPerMonth: Nullable(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'AI credits that the workspace can use in a month of its owner’s subscription. Null for no limit',
    }),
  ),
  autoPublishModelText: Type.Boolean({
    description:
      'Whether API keys and automation can schedule and publish posts whose text a model wrote. Otherwise a member must schedule, publish or approve them in a login session',
  }),
}

const AiSettings = named(
  'AiSettings',
  Type.Object(aiSettings, { description: 'How texts for this workspace are generated' }),
)
export type AiSettingsData = Static<typeof AiSettings>

export const AI_DEFAULTS: AiSettingsData = {
  tone: 'friendly',
  language: 'en',
  hashtagCount: 5,
  bannedWords: [],
  emoji: 'few',
  model: null,
  creditLimitPerMonth: null,
  autoPublishModelText: false,
}

export const AiSettingsChange = Input(
  {
    tone: Type.Optional(aiSettings.tone),
    language: Type.Optional(aiSettings.language),
    hashtagCount: Type.Optional(aiSettings.hashtagCount),
    bannedWords: Type.Optional(aiSettings.bannedWords),
    emoji: Type.Optional(aiSettings.emoji),
    model: Type.Optional(aiSettings.model),
    creditLimitPerMonth: Type.Optional(aiSettings.creditLimitPerMonth),
    autoPublishModelText: Type.Optional(aiSettings.autoPublishModelText),
  },
  { minProperties: 1 },
)

const shared = {
  ...ResourceBase,
  name: Type.String({ description: 'Name of the workspace' }),
  timezone: Type.String({ description: 'IANA time zone in which posts are scheduled' }),
  logo: Nullable(Type.String({ description: 'URL of an image' })),
  aiSettings: AiSettings,
  ownerId: Type.String({ ...Id, description: 'The user whose plan the workspace counts against' }),
  secondFactorRequiredAt: Nullable(
    Type.String({
      ...Timestamp,
      description:
        'From this time on, members without a second factor get 403 `second_factor_needed`, and their open sockets get no more events of the workspace. Until then they can turn one on without interruption. A session that began with a passkey needs no other factor. Null: none is required',
    }),
  ),
  version: Type.Integer({ description: 'Increases with every change. Also sent as the ETag' }),
}

/** A workspace without the parts that differ between members. */
export const WorkspaceState = named('WorkspaceState', Type.Object(shared))

/** A workspace as a member sees it. */
export const WorkspaceView = named(
  'Workspace',
  Type.Object({
    ...shared,
    role: Type.String({ description: 'The caller’s role: a built-in role or the name of a custom one' }),
    scopes: Type.Array(OneOf(ALL_SCOPES as [Scope, ...Scope[]]), { description: 'What the caller can do' }),
  }),
)

export const NewWorkspace = Input({ name: Name, timezone: TimeZone, logo: Type.Optional(Logo) })

export const WorkspaceChange = Input(
  {
    name: Type.Optional(Name),
    timezone: Type.Optional(TimeZone),
    logo: Type.Optional(Nullable(Logo)),
    secondFactorRequiredAt: Type.Optional(Nullable(InstantInput)),
  },
  { minProperties: 1 },
)

export const DeleteConfirmation = Input({
  name: Text(1, 100, { description: 'The name of the workspace, as a confirmation' }),
})

export const DeletedWorkspace = named(
  'DeletedWorkspace',
  Type.Object({ _id: Id, deletedAt: Timestamp, purgeAt: Timestamp }),
)

export const AuditQuery = Input({
  ...PageQuery.properties,
  actorId: Several(Id, { description: 'Only entries of this user' }),
  action: Several(Text(1, 64), { description: 'Only entries of this operation, such as updateWorkspace' }),
  from: Type.Optional(InstantInput),
  to: Type.Optional(InstantInput),
})

export const AuditEntry = named(
  'AuditEntry',
  Type.Object({
    _id: Id,
    createdAt: Timestamp,
    actor: Nullable(
      Type.Object(
        { _id: Id, name: Type.String(), email: Type.String() },
        { description: 'Null if the user no longer exists' },
      ),
    ),
    via: Type.String({
      description: '`token`, `api_key`, `guest`, or `ticket` for a mailed token, such as that of a password reset',
    }),
    apiKeyId: Nullable(Id),
    action: Type.String({ description: 'Name of the operation' }),
    target: Nullable(Type.Object({ kind: Type.String(), _id: Type.String() })),
    details: Nullable(Type.Record(Type.String(), Type.Unknown())),
    ip: Type.String(),
    userAgent: Type.String(),
    requestId: Type.String(),
  }),
)

export const SyncQuery = Input({
  after: Type.Optional(Sequence({ default: 0, description: 'The last sequence number that the client has' })),
  generation: Type.Optional(Generation),
  limit: PageQuery.properties.limit,
})

export const EventView = named(
  'WorkspaceEvent',
  Type.Object({
    seq: Type.Integer(),
    type: Type.String({ description: 'For example `workspace.updated`' }),
    data: Type.Unknown(),
    at: Timestamp,
  }),
)

export const SyncPage = named(
  'WorkspaceEvents',
  Type.Object({
    events: Type.Array(EventView, {
      description: 'In order. Missing numbers belong to events that the caller cannot see',
    }),
    after: Type.Integer({ description: 'The `after` of the next request' }),
    lastSeq: Type.Integer({ description: 'The number of the newest event of the workspace' }),
    generation: Generation,
    hasMore: Type.Boolean({ description: 'There are more events. Request them with the new `after`' }),
    reset: Type.Boolean({
      description:
        '`after` is ahead of the workspace or of another `generation`, or later events have been deleted. Reload all data, then continue with the new `after`',
    }),
  }),
)
