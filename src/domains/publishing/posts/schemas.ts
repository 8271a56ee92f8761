import {
  Id,
  InstantInput,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { TimeZone as AnyTimeZone } from '../../../core/time-zone.ts'
import { Several, SeveralTexts } from '../../../core/several.ts'
import { pageFields } from '../../../core/page.ts'
import { ERROR_KINDS, type ErrorKind } from '../../../platforms/error-kinds.ts'
import { optionsOfAnyPlatform } from '../../../platforms/options-schema.ts'
import { PlatformKey } from '../../social/accounts/index.ts'
import { PostApproval } from './approval/schemas.ts'
import { TargetStatusSchema } from './state.ts'
import {
  TimeAdjustment,
  Exdates,
  MaybeOccurrence,
  Rdates,
  Rrule,
  variationsInput,
  QueueRequest,
} from '../calendar/index.ts'
import { PostTextOrigin } from './text-origin/schemas.ts'
import { PostFix } from './fixes.ts'

/** The longest text of any platform, with room for a long Facebook post. */
export const MAX_TEXT = 65_000
const MAX_MEDIA = 35
const MAX_THREAD = 50
const MAX_TARGETS = 50
export const MAX_LABELS = 20

const Content = Text(0, MAX_TEXT, { description: 'The text' })
const Title = Text(0, 300, { description: 'For platforms that have titles, such as YouTube' })
const Link = Text(0, 2_048, {
  description: 'A link beside the text. Platforms without a field for it get it at the end of the text',
})
const FirstComment = Text(0, 10_000, { description: 'Published as a comment below the post' })
const Tags = Type.Array(Text(1, 100), { maxItems: 60, description: 'For platforms that have tags beside the text' })
const Labels = Type.Array(Text(1, 50), {
  maxItems: MAX_LABELS,
  uniqueItems: true,
  description: 'To find posts again. Platforms do not see them',
})
const platformOptions = {
  description: 'Options of the account’s platform. GET /api/platforms/{platform} describes them',
}
const PlatformOptions = Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), platformOptions)
/** Checked by the rules of the account’s platform, because drafts may break them. */
const PlatformOptionsInput = Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), {
  ...platformOptions,
  'x-shown': optionsOfAnyPlatform(),
})

export const MediaItem = named(
  'PostMedia',
  Type.Object({
    assetId: Id,
    renditionId: Type.Optional(Nullable(Id)),
    altText: Type.Optional(Nullable(Type.String({ description: 'Replaces the alt text of the asset' }))),
  }),
)
const MediaItemInput = Input({
  assetId: Type.Optional(Id),
  url: Type.Optional(
    Text(1, 2_048, {
      description:
        'Instead of `assetId`: a public address. createPost, updatePost, createPostsBulk and importPosts fetch the file into the media library, which needs `media:write`',
    }),
  ),
  renditionId: Type.Optional(Nullable(Id)),
  altText: Type.Optional(Nullable(Text(0, 10_000, { description: 'Replaces the alt text of the asset' }))),
})
const MediaInput = Type.Array(Type.Union([Id, MediaItemInput]), {
  maxItems: MAX_MEDIA,
  description: 'Assets of the media library: their ids, or objects with `assetId` or `url`',
})
export const MediaView = Type.Array(MediaItem, { description: 'The files, in the order in which they are shown' })

const ThreadInput = Type.Array(Input({ content: Content, media: Type.Optional(MediaInput) }), {
  maxItems: MAX_THREAD,
  description: 'The parts that follow the first one, each a reply to the part before it',
})
export const ThreadPart = Type.Object({ content: Type.String(), media: MediaView })

/** Fields that a target can override. */
export const contentInput = {
  content: Type.Optional(Content),
  title: Type.Optional(Nullable(Title)),
  link: Type.Optional(Nullable(Link)),
  media: Type.Optional(MediaInput),
  thread: Type.Optional(ThreadInput),
  firstComment: Type.Optional(Nullable(FirstComment)),
  tags: Type.Optional(Tags),
}

export const ScheduledFor = Text(10, 40, {
  description:
    'When to publish: a date and time with an offset or Z, or a local time such as `2026-11-30T09:00` in `timezone`',
  examples: ['2026-11-30T09:00'],
})
export const TimeZone = Type.String({
  ...AnyTimeZone,
  description:
    'IANA time zone of an area, such as `Europe/Berlin`, or `UTC`. By default that of your publishing settings, or of the workspace',
})

export const OverrideInput = Input({
  ...contentInput,
  options: Type.Optional(PlatformOptionsInput),
  scheduledFor: Type.Optional(Nullable(ScheduledFor)),
  timezone: Type.Optional(Nullable(TimeZone)),
})

const TargetInput = Input({ accountId: Id, override: Type.Optional(Nullable(OverrideInput)) })
const TargetsInput = Type.Array(TargetInput, { maxItems: MAX_TARGETS, description: 'The accounts to publish at' })

const LateMinutes = Type.Integer({
  minimum: 0,
  maximum: 1_440,
  description:
    'How late the post can still be published, in minutes. After that it becomes `missed` and waits for a decision. 60 by default',
})

/** The parts of a post that its author writes, without times. */
export const postContentFields = {
  ...contentInput,
  targets: Type.Optional(TargetsInput),
  labels: Type.Optional(Labels),
  lateMinutes: Type.Optional(LateMinutes),
}

const OnFull = OneOf(['refuse', 'move'] as const, {
  description:
    'What to do if an account has no room for the post in its daily or hourly limits: refuse it, or move it to the same clock time of the next day with room. `refuse` by default',
})

/** The fields of a new post beside its workspace. */
export const newPostFields = {
  ...postContentFields,
  onFull: Type.Optional(OnFull),
  scheduledFor: Type.Optional(Nullable(ScheduledFor)),
  timezone: Type.Optional(Nullable(TimeZone)),
  queue: Type.Optional(QueueRequest),
  publishNow: Type.Optional(Type.Boolean({ description: 'Publishes the post at once' })),
  draft: Type.Optional(
    Type.Boolean({ description: 'Saves the post even if a platform would refuse it. It cannot have a time' }),
  ),
}

export const Variations = variationsInput(Input(contentInput))
export const RecurrenceInput = Input(
  {
    rrule: Rrule,
    exdates: Type.Optional(Exdates),
    rdates: Type.Optional(Rdates),
    variations: Type.Optional(Variations),
  },
  { description: 'Repeats the post. It is the first occurrence, and each other one is made up to 30 days ahead' },
)
export type RecurrenceInputData = Static<typeof RecurrenceInput>

export const NewPost = Input(
  { workspaceId: Id, ...newPostFields, recurrence: Type.Optional(RecurrenceInput) },
  { description: 'A post. Without `scheduledFor`, `queue` or `publishNow` it is a draft' },
)
export type NewPostInput = Static<typeof NewPost>

export const PostChange = Input({
  ...postContentFields,
  scheduledFor: Type.Optional(Nullable(ScheduledFor)),
  timezone: Type.Optional(Nullable(TimeZone)),
  recurrence: Type.Optional(RecurrenceInput),
})
export type PostChangeInput = Static<typeof PostChange>

export const rescheduleFields = {
  scheduledFor: Type.Optional(ScheduledFor),
  timezone: Type.Optional(Nullable(TimeZone)),
  queue: Type.Optional(QueueRequest),
  onFull: Type.Optional(OnFull),
}
export const Reschedule = Input(rescheduleFields, { description: 'Either `scheduledFor` or `queue`' })
export type RescheduleInput = Static<typeof Reschedule>

export const PostCopy = Input(
  {
    accountIds: Type.Optional(
      Type.Array(Id, {
        maxItems: MAX_TARGETS,
        uniqueItems: true,
        description:
          'Other accounts for the copy. What an account of the post publishes differently is kept. Those of the post by default',
      }),
    ),
    ...rescheduleFields,
  },
  { description: 'Without `scheduledFor` or `queue` the copy is a draft' },
)
export type PostCopyInput = Static<typeof PostCopy>

/** The content of a post, normalized. */
export interface PostBody {
  readonly content: string
  readonly title: string | null
  readonly link: string | null
  readonly media: readonly MediaRef[]
  readonly thread: readonly { readonly content: string; readonly media: readonly MediaRef[] }[]
  readonly firstComment: string | null
  readonly tags: readonly string[]
}

export type MediaRef = Static<typeof MediaItem>

/** What one account publishes differently. Fields that are absent are those of the post. */
export interface TargetOverride extends Partial<PostBody> {
  readonly options?: Readonly<Record<string, unknown>>
}

const WhoActs = States('WhoActs', 'Who can remove the cause', {
  user: 'A member of the workspace',
  admin: 'The administrator of this server',
  us: 'The developers of Crier',
  nobody: 'It ends with time',
})

const ErrorKindView = States(
  'PlatformErrorKind',
  'The kind of an error of a platform',
  Object.fromEntries(
    Object.entries(ERROR_KINDS).map(([kind, { meaning }]) => [kind, meaning.replace(/\.$/, '')]),
  ) as Record<ErrorKind, string>,
)

/** Why a target has its state. */
export const ReasonView = named(
  'PostStatusReason',
  Type.Object({
    code: Type.String({ description: 'A stable word for programs' }),
    message: Type.String({ description: 'The same for people' }),
    whoActs: WhoActs,
    nextStep: Nullable(Type.String({ description: 'What to do next' })),
    kind: Nullable(ErrorKindView),
    platformCode: Nullable(Type.String({ description: 'The platform’s own code' })),
    platformMessage: Nullable(Type.String({ description: 'The platform’s own message' })),
  }),
)

const OverrideView = Type.Object({
  content: Type.Optional(Type.String()),
  title: Type.Optional(Nullable(Type.String())),
  link: Type.Optional(Nullable(Type.String())),
  media: Type.Optional(MediaView),
  thread: Type.Optional(Type.Array(ThreadPart)),
  firstComment: Type.Optional(Nullable(Type.String())),
  tags: Type.Optional(Type.Array(Type.String())),
  options: Type.Optional(PlatformOptions),
})

export const PlatformPost = named(
  'PlatformPost',
  Type.Object({
    ...ResourceBase,
    accountId: Id,
    platform: PlatformKey,
    status: TargetStatusSchema,
    statusReason: Nullable(ReasonView),
    override: Nullable(OverrideView),
    scheduledFor: Nullable(Timestamp),
    localTime: Nullable(Type.String({ description: 'The clock time of `scheduledFor` in `timezone`' })),
    timezone: Nullable(Type.String()),
    timeAdjustment: Nullable(TimeAdjustment),
    attemptCount: Type.Integer({ description: 'Attempts since it was last scheduled or retried' }),
    nextAttemptAt: Nullable(Timestamp),
    publishedVersion: Nullable(Type.Integer({ description: 'The version of the content that was published' })),
    publishedAt: Nullable(Timestamp),
    remoteId: Nullable(Type.String({ description: 'The id at the platform' })),
    url: Nullable(Type.String({ description: 'The address at the platform' })),
    remoteDeletedAt: Nullable(Type.String({ format: 'date-time', description: 'When it was deleted at the platform' })),
  }),
)
export type PlatformPostData = Static<typeof PlatformPost>

export const PostView = named(
  'Post',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    version: Type.Integer({ description: 'Raised with each change of the content or the time' }),
    status: TargetStatusSchema,
    content: Type.String({ description: 'The text' }),
    title: Nullable(Type.String({ description: 'For platforms that have titles' })),
    link: Nullable(Type.String({ description: 'A link beside the text' })),
    media: MediaView,
    thread: Type.Array(ThreadPart, { description: 'The parts that follow the first one' }),
    firstComment: Nullable(Type.String({ description: 'Published as a comment below the post' })),
    tags: Type.Array(Type.String(), { description: 'For platforms that have tags beside the text' }),
    labels: Type.Array(Type.String(), { description: 'To find posts again' }),
    scheduledFor: Nullable(Timestamp),
    localTime: Nullable(Type.String({ description: 'The clock time of `scheduledFor` in `timezone`' })),
    timezone: Nullable(Type.String({ description: 'IANA time zone' })),
    timeAdjustment: Nullable(TimeAdjustment),
    lateMinutes: LateMinutes,
    batchId: Nullable(Type.String({ ...Id, description: 'The import that created the post' })),
    seriesId: Nullable(Type.String({ ...Id, description: 'The recurring post that it belongs to' })),
    occurrence: MaybeOccurrence,
    ideaId: Nullable(Type.String({ ...Id, description: 'The idea that it was made of' })),
    createdBy: Type.String({ ...Id, description: 'The author' }),
    approval: Type.Union([PostApproval, Type.Null()], {
      description: 'Where the post stands in the approval flow. Null if it was never submitted',
    }),
    textOrigin: Type.Union([PostTextOrigin, Type.Null()], {
      description: 'Set if a model wrote text of the post. Null otherwise',
    }),
    targets: Type.Array(PlatformPost, { description: 'One for each account' }),
  }),
)
export type PostData = Static<typeof PostView>

/** Something unusual about a new post, which is created anyway. */
export const PostWarning = named(
  'PostWarning',
  Type.Object({
    code: States('PostWarningCode', 'What is unusual about a new post', {
      text_repeated: 'The account has another post with the same text within an hour',
    }),
    accountId: Id,
    postId: Nullable(Type.String({ ...Id, description: 'The other post. Null if it is not created' })),
    message: Type.String(),
    nextStep: Type.String({ description: 'What to do about it' }),
  }),
)
export type PostWarningData = Static<typeof PostWarning>

export const CreatedPost = named(
  'CreatedPost',
  Type.Object({
    ...PostView.properties,
    warnings: Type.Array(PostWarning, { description: 'What is unusual about the post. It is created anyway' }),
  }),
)

const Severity = OneOf(['error', 'warning'], {
  description:
    '`error`: the platform refuses the post. `warning`: it takes the post, and `message` says what it changes or what is unusual',
})

export const PlatformValidationFailure = named(
  'PlatformValidationFailure',
  Type.Object({
    rule: Type.String({ description: 'The name of the rule, such as `text.max`' }),
    severity: Severity,
    allowed: Nullable(
      Type.Union([Type.Number(), Type.Array(Type.String())], { description: 'The limit. Null if the rule has none' }),
    ),
    actual: Nullable(
      Type.Union([Type.Number(), Type.String()], {
        description: 'The value in the post. Of a text that is far too long, the length of the part that was counted',
      }),
    ),
    unit: Type.String({ description: 'The unit of `allowed` and `actual`' }),
    path: Type.String({ description: 'JSON pointer into the content of the target' }),
    message: Type.String(),
    fix: Type.String({ description: 'What the user can do' }),
    origin: OneOf(['rule', 'operator', 'live'] as const, {
      description:
        '`rule`: the platform’s public rules. `operator`: a setting of this server. `live`: the platform’s reply for the account',
    }),
    source: Type.String({ description: 'The page or code that states the rule' }),
    seen: Nullable(
      Type.String({
        description:
          'Year and month in which the source was read, or in which the platform refused a file. Null for settings of this server and replies of the platform',
      }),
    ),
  }),
)

export const TargetCheck = named(
  'PostTargetCheck',
  Type.Object({
    accountId: Id,
    platform: PlatformKey,
    isValid: Type.Boolean(),
    failures: Type.Array(PlatformValidationFailure),
    warnings: Type.Array(PlatformValidationFailure),
  }),
)
export type TargetCheckData = Static<typeof TargetCheck>

export const PostCheck = Type.Object({
  isValid: Type.Boolean({
    description: 'Whether every platform accepts the post, the plan has room for it, and nothing prevents its time',
  }),
  targets: Type.Array(
    Type.Object({
      ...TargetCheck.properties,
      fixes: Type.Array(PostFix, {
        description: 'Changes that remove failures and warnings. Crier makes none by itself',
      }),
    }),
  ),
  scheduledFor: Nullable(
    Type.String({ format: 'date-time', description: 'When it would be published, for instance the next free slot' }),
  ),
  localTime: Nullable(Type.String({ description: 'The clock time of `scheduledFor` in `timezone`' })),
  timezone: Nullable(Type.String({ description: 'IANA time zone' })),
  problems: Type.Array(
    Type.Object({
      code: Type.String({ description: 'The code of the error with which createPost would refuse the post' }),
      message: Type.String(),
      nextStep: Type.String({ description: 'What to do about it' }),
      details: Type.Record(Type.String(), Type.Unknown(), { description: 'The details of that error' }),
    }),
    {
      description:
        'Why the caller could not create or schedule the post: the plan, its accounts, their budgets, the queue, or a text of a model that nobody has released',
    },
  ),
})

export const PostPath = Input({ id: Id })
/** The filters of lists of posts. */
export const PostListFilter = {
  workspaceId: Id,
  status: Several(TargetStatusSchema),
  platform: Several(PlatformKey),
  accountId: Several(Id),
  from: Type.Optional(InstantInput),
  to: Type.Optional(InstantInput),
  q: Type.Optional(Text(1, 200, { description: 'Words of the text, the title or the labels' })),
  label: SeveralTexts(Text(1, 50)),
  batchId: Several(Id),
  seriesId: Several(Id),
}
export const PostListQuery = Input({
  ...PostListFilter,
  sort: Type.Optional(
    OneOf(['newest', 'scheduledFor'] as const, {
      description: '`scheduledFor`: soonest first, without posts that have no time. `newest` by default',
    }),
  ),
  ...pageFields,
})
