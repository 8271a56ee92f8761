import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  InstantInput,
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
import { Several } from '../../../core/several.ts'
import { CreditBalance } from '../../money/ledger/index.ts'
import { PlatformKey } from '../../social/accounts/index.ts'

/** Captions that one request can ask for. */
export const MAX_VARIANTS = 5
const VARIANTS = 3
const MAX_TEXT = 20_000

export const AiJobPath = Input({ id: Id })

export const NewCaption = Input({
  workspaceId: Id,
  assetId: Type.Optional({ ...Id, description: 'The file that the caption is about' }),
  text: Type.Optional(Text(1, MAX_TEXT, { description: 'What the caption is about, such as notes or an article' })),
  platforms: Type.Optional(
    Type.Array(PlatformKey, {
      minItems: 1,
      maxItems: 20,
      uniqueItems: true,
      description: 'Each caption is shortened to the limits of these platforms. Without it, it is not shortened.',
    }),
  ),
  tone: Type.Optional(Text(1, 100, { description: 'Replaces the tone of the AI settings' })),
  variantCount: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_VARIANTS, default: VARIANTS, description: 'How many different captions' }),
  ),
})
export type NewCaptionData = Static<typeof NewCaption>

export const NewStyle = Input({ workspaceId: Id })

export const NewTranscription = Input({
  workspaceId: Id,
  assetId: { ...Id, description: 'A video or a sound of at most three hours' },
  language: Type.Optional(
    Type.String({
      pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$',
      maxLength: 35,
      description: 'The language of the speech (BCP 47). Without it, the model finds out. Selects embedded subtitles',
    }),
  ),
})
export type NewTranscriptionData = Static<typeof NewTranscription>

export const AiJobQuery = Input({ workspaceId: Id, ...pageFields })
export const CaptionQuery = Input({
  workspaceId: Id,
  assetId: Several(Id, { description: 'Only captions of this asset' }),
  ...pageFields,
})

/** Kinds of work that credits pay for. */
export const AI_KINDS = ['caption', 'style', 'transcription', 'analysis'] as const
export type AiKind = (typeof AI_KINDS)[number]

const AiJobState = States('AiJobState', 'Where an AI job stands', {
  queued: 'It waits for a worker',
  running: 'A worker is on it',
  done: '`result` has what it made',
  failed: 'It failed, and used no credits. `error` says why',
  cancelled: 'It was cancelled, and used no credits',
})
export type AiState = Static<typeof AiJobState>
/** States that a job can leave. */
export const OPEN_STATES = ['queued', 'running'] as const satisfies readonly AiState[]

const Provider = States('AiProvider', 'What does the work', {
  built_in: 'Crier itself, without a model. It selects and joins what is there, and writes nothing new',
  openai_compatible: 'A model behind an OpenAI-compatible API that the server has configured',
  workspace: 'A model behind an OpenAI-compatible API that the workspace has configured',
  local: 'A whisper.cpp model on the server itself, which recognizes speech',
})
export type ProviderKey = Static<typeof Provider>

const Origin = States('TextOrigin', 'Who wrote a text', {
  selected: 'Crier selected and joined existing text, without a model',
  model: 'A language model wrote it',
})

const model = Nullable(Type.String({ description: 'The model. Null for the built-in provider' }))
const assetId = Nullable({ ...Id, description: 'The asset that it is about' })

export const Caption = named(
  'Caption',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    aiJobId: { ...Id, description: 'The AI job that made it' },
    assetId,
    variantNumber: Type.Integer({ minimum: 1, description: 'Captions with the same number differ only in length' }),
    platform: Nullable(Type.String({ description: 'The platform whose limits it keeps to. Null for none' })),
    title: Nullable(Type.String({ description: 'For platforms that have titles' })),
    content: Type.String({ description: 'The text, with the hashtags at its end' }),
    hashtags: Type.Array(Type.String()),
    shortened: Type.Boolean({ description: 'Whether text or hashtags were left out for the platform' }),
    origin: Origin,
    model,
    promptVersion: Nullable(Type.String({ description: 'The version of the prompt that the model was given' })),
  }),
)
export type CaptionData = Static<typeof Caption>

const Hashtag = Type.Object({
  hashtag: Type.String(),
  publishedCount: Type.Integer({ minimum: 0, description: 'Accounts that published posts with it' }),
  failedCount: Type.Integer({ minimum: 0, description: 'Accounts that refused posts with it' }),
})

export const Style = named(
  'WritingStyle',
  Type.Object(
    {
      postCount: Type.Integer({ minimum: 0, description: 'Posts that were examined' }),
      language: Nullable(Type.String({ description: 'Language tag. Null if the posts do not show it clearly' })),
      typicalLength: Type.Integer({ minimum: 0, description: 'Half of the posts have at most this many characters' }),
      topHashtags: Type.Array(Hashtag, { description: 'The most successful first' }),
      findings: Type.Array(
        Type.Object({
          summary: Type.String({ description: 'What the posts have in common' }),
          examples: Type.Array(
            Type.Object({ postId: Id, excerpt: Type.String({ description: 'The beginning of the post' }) }),
            { description: 'Posts that show it' },
          ),
        }),
      ),
      suggestedSettings: Type.Object(
        {
          language: Nullable(Type.String()),
          hashtagCount: Type.Integer({ minimum: 0 }),
          emoji: OneOf(['none', 'few', 'many']),
        },
        { description: 'AI settings that match the posts. They are not applied' },
      ),
    },
    { description: 'How the past posts of a workspace are written. It is measured, not written by a model' },
  ),
)
export type StyleData = Static<typeof Style>

const TranscriptOrigin = States('TranscriptOrigin', 'What a transcript was made of', {
  subtitles: 'Text subtitles that are embedded in the file. Nothing was recognized',
  model: 'Speech that a model has recognized',
})
export type TranscriptOrigin = Static<typeof TranscriptOrigin>

const Seconds = (description: string) => Type.Number({ minimum: 0, description })

export const Transcript = named(
  'Transcript',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    aiJobId: { ...Id, description: 'The AI job that made it' },
    assetId: { ...Id, description: 'The asset that it is of. It is deleted with the asset' },
    language: Nullable(Type.String({ description: 'Language tag. Null if it is unknown' })),
    durationSeconds: Seconds('Duration of the sound'),
    text: Type.String({ description: 'All of it, a line for each segment' }),
    segments: Type.Array(
      Type.Object({
        startSeconds: Seconds('From the beginning of the file'),
        endSeconds: Seconds('From the beginning of the file'),
        speaker: Nullable(
          Type.String({
            description:
              'Label of the speaker, if the model gives one. Long sound is recognized in pieces; labels begin with the number of the piece then, because a model tells speakers apart only within a piece',
          }),
        ),
        text: Type.String(),
      }),
      { description: 'In order' },
    ),
    srt: Type.String({ description: 'Subtitles as SubRip' }),
    vtt: Type.String({
      description: 'Subtitles as WebVTT. A comment in it names the model that recognized the speech',
    }),
    origin: TranscriptOrigin,
    model,
  }),
)
export type TranscriptData = Static<typeof Transcript>

const LocalDay = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'A day in the zone of the workspace' })

export const NewAnalysis = Input({
  workspaceId: Id,
  from: Type.Optional({ ...LocalDay, description: 'The first day. 29 days before `to` by default' }),
  to: Type.Optional({ ...LocalDay, description: 'The last day. Today by default' }),
  accountIds: Type.Optional(
    Type.Array(Id, { minItems: 1, maxItems: 50, uniqueItems: true, description: 'Only these accounts' }),
  ),
  question: Type.Optional(Text(1, 500, { description: 'What you want to know. The built-in provider ignores it' })),
})
export type NewAnalysisData = Static<typeof NewAnalysis>

export const AnalysisView = named(
  'AiAnalysis',
  Type.Object(
    {
      from: LocalDay,
      to: LocalDay,
      timezone: Type.String(),
      sentences: Type.Array(
        Type.Object({
          text: Type.String(),
          factNumbers: Type.Array(Type.Integer(), { description: 'The facts that it rests on' }),
        }),
        { description: 'The most important first' },
      ),
      facts: Type.Array(
        Type.Object({
          factNumber: Type.Integer(),
          statement: Type.String({ description: 'Made of the figures by Crier, before anything was written' }),
        }),
        { description: 'The facts that the sentences cite' },
      ),
      removedCount: Type.Integer({
        minimum: 0,
        description: 'Sentences that were removed, because they cited no fact or had figures that their facts lack',
      }),
      origin: Origin,
      model,
      promptVersion: Nullable(Type.String({ description: 'The version of the prompt that the model was given' })),
    },
    { description: 'What the figures of a time say' },
  ),
)
export type AnalysisData = Static<typeof AnalysisView>

const IGNORED = ['tone', 'language', 'model', 'question'] as const
export type IgnoredSetting = (typeof IGNORED)[number]

const AiResult = Type.Object({
  captions: Nullable(Type.Array(Caption, { description: 'Of a job of the kind `caption`' })),
  style: Nullable(Style),
  transcript: Nullable({
    ...Transcript,
    description: 'Of a job of the kind `transcription`. Null in lists and events, and after the asset was deleted',
  }),
  analysis: Nullable(AnalysisView),
  ignoredSettings: Type.Array(OneOf(IGNORED), {
    description: 'AI settings and parts of the request that the provider could not follow',
  }),
})

export const AiJob = named(
  'AiJob',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    kind: OneOf(AI_KINDS, { description: 'What it makes' }),
    state: AiJobState,
    progress: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent' }),
    jobId: { ...Id, description: 'The job that does the work, as `job.progress` names it' },
    assetId,
    provider: Provider,
    model,
    creditsReserved: Type.Integer({ minimum: 1, description: 'The most that it can cost' }),
    creditsUsed: Nullable(Type.Integer({ minimum: 0, description: 'What it has cost. Null until it has ended' })),
    result: Nullable({ ...AiResult, description: 'What it has made. Null unless the state is `done`' }),
    error: Nullable(Type.String({ description: 'Why it failed, as text for people' })),
    createdBy: Id,
    finishedAt: Nullable(Timestamp),
  }),
)
export type AiJobData = Static<typeof AiJob>

const Day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'A day in UTC' })
const Used = Type.Integer({ minimum: 0, description: 'Credits that were used' })
const USE_KINDS = [...AI_KINDS, 'other'] as const
export type UseKind = (typeof USE_KINDS)[number]
const ByKind = Type.Array(
  Type.Object({ kind: OneOf(USE_KINDS, { description: 'The work that used them' }), creditsUsed: Used }),
)

export const AiUsage = named(
  'AiUsage',
  Type.Object({
    credits: CreditBalance,
    periodStart: Timestamp,
    periodEnd: Timestamp,
    creditsUsed: { ...Used, description: 'Credits that were used since `periodStart`' },
    creditsByKind: ByKind,
  }),
)

export const UsageSeriesQuery = Input({
  from: Type.Optional({
    ...InstantInput,
    description: 'The first day, by its UTC date. 29 days before `to` by default',
  }),
  to: Type.Optional({ ...InstantInput, description: 'The last day, by its UTC date. Today by default' }),
})
export type UsageSeriesFilter = Static<typeof UsageSeriesQuery>

export const AiUsageSeries = named(
  'AiUsageSeries',
  Type.Object({
    creditsUsed: { ...Used, description: 'The sum of all days' },
    dailyUse: Type.Array(Type.Object({ date: Day, creditsUsed: Used, creditsByKind: ByKind }), {
      description: 'Every day of the range, also without use',
    }),
  }),
)
