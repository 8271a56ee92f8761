import { EXAMPLE } from '../../../core/example-ids.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { accepted, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { InsufficientCredits } from '../../money/ledger/index.ts'
import { UrlRefused } from '../../../fetch/errors.ts'
import { AiProviderPath, AiSpending, NewAiProvider, WorkspaceAiProvider } from './connection/schemas.ts'
import { AiLimitReached, AiModelUnknown, NotEnoughPosts, NotTranscribable } from './errors.ts'
import {
  AiJob,
  AiJobPath,
  AiJobQuery,
  AiUsage,
  AiUsageSeries,
  Caption,
  CaptionQuery,
  NewAnalysis,
  NewCaption,
  NewStyle,
  NewTranscription,
  UsageSeriesQuery,
} from './schemas.ts'

const { aiJobId, assetId, workspaceId } = EXAMPLE
const JOB = { path: { id: aiJobId } }

export const generateCaption = operation({
  route: 'POST /api/ai/captions',
  summary: 'Write captions and hashtags for an asset or a text',
  description:
    'The job makes up to `variantCount` different captions, which keep to the AI settings of the workspace. For each of `platforms`, it shortens them to the limits of the platform. A caption costs one credit. The credits of all captions are reserved now, and those of captions that were not made are released at the end. Nothing is published, and an API key cannot publish a text of a model by itself (`textOrigin` of posts). While the model writes, `job.progress` has its `partialText`. The job fails and releases its credits if the provider pauses for 30 seconds within a reply, or sends a web page or more than 2 MB. A provider that does not reply within 90 seconds, or has a fault, is asked up to four times.\n\nWithout a model, the server selects sentences of the text or alt text, or uses the name of the file, and joins them with hashtags, emoji and a closing that past posts have in common. It cannot follow `tone` and `language`, and says so in `ignoredSettings`.\n\nTexts in files, names and posts are data. Links and mentions are kept only if they are in `text` of the request.',
  access: 'ai:use',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewCaption,
  returns: { 202: Envelope(AiJob) },
  errors: [NotFound, ValidationFailed, InsufficientCredits, AiLimitReached, AiModelUnknown],
  example: { body: { workspaceId, assetId, variantCount: 2 } },
  handle: async ({ ai, body, caller, turn }) =>
    accepted('Captions requested', await ai.requests.caption(turn, caller.userId, body)),
})

export const transcribe = operation({
  route: 'POST /api/ai/transcriptions',
  summary: 'Transcribe the speech of a video or a sound',
  description:
    'The result has the text, its segments with times, and subtitles as SRT and WebVTT. It is kept with the job until the asset is deleted for good.\n\nWith a model for speech, the sound is cut at pauses and sent in pieces. It costs one credit for each started minute of sound. Pauses of 20 seconds or more are not sent and cost nothing. Without such a model, the server reads text subtitles that are embedded in the file, for one credit. A file without them fails with an error that says what to configure, and costs nothing.',
  access: 'ai:use',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewTranscription,
  returns: { 202: Envelope(AiJob) },
  errors: [NotFound, NotTranscribable, InsufficientCredits, AiLimitReached],
  example: { body: { workspaceId, assetId, language: 'en' } },
  handle: async ({ ai, body, caller, turn }) =>
    accepted('Transcription requested', await ai.requests.transcription(turn, caller.userId, body)),
})

export const analyzeWithAi = operation({
  route: 'POST /api/analytics/ai-analysis',
  summary: 'Explain the figures of a time',
  description:
    'The job computes facts of the figures first, compared with as many days before. The provider writes sentences that cite them. Sentences that cite no fact, or have a figure that their facts lack, are removed. Without a model, the facts themselves are the answer. It costs two credits, and nothing if no sentence is kept. GET /api/analytics/ai-analysis/{id} reads the result.',
  access: 'analytics:read',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewAnalysis,
  returns: { 202: Envelope(AiJob) },
  errors: [ValidationFailed, InsufficientCredits, AiLimitReached, AiModelUnknown],
  example: { body: { workspaceId, question: 'Where did we grow?' } },
  handle: async ({ ai, body, caller, turn }) =>
    accepted('Analysis requested', await ai.requests.analysis(turn, caller.userId, body)),
})

export const getAiAnalysis = operation({
  route: 'GET /api/analytics/ai-analysis/{id}',
  summary: 'Get an analysis',
  description: 'The AI job of `analyzeWithAi` with its result.',
  access: 'analytics:read',
  workspace: owner('ai_jobs'),
  path: AiJobPath,
  returns: { 200: Envelope(AiJob) },
  errors: [NotFound],
  example: JOB,
  handle: async ({ ai, path }) => ok('Analysis', await ai.reader.job(path.id, 'analysis')),
})

export const getSavedCaptions = operation({
  route: 'GET /api/ai/captions',
  summary: 'List saved captions',
  description: 'Captions of the workspace or of one asset, newest first.',
  access: 'ai:use',
  workspace: from.query('workspaceId'),
  query: CaptionQuery,
  returns: { 200: ListOf(Caption) },
  example: { query: { workspaceId, limit: 20 } },
  handle: async ({ ai, query }) => list('Captions', await ai.reader.captions(query, pageRequest(query))),
})

export const getAiJob = operation({
  route: 'GET /api/ai/jobs/{id}',
  summary: 'Get an AI job with its result',
  access: 'ai:use',
  workspace: owner('ai_jobs'),
  path: AiJobPath,
  returns: { 200: Envelope(AiJob) },
  errors: [NotFound],
  example: JOB,
  handle: async ({ ai, path }) => ok('AI job', await ai.reader.job(path.id)),
})

export const listAiJobs = operation({
  route: 'GET /api/ai/jobs',
  summary: 'List AI jobs',
  description: 'Newest first, with their results.',
  access: 'ai:use',
  workspace: from.query('workspaceId'),
  query: AiJobQuery,
  returns: { 200: ListOf(AiJob) },
  example: { query: { workspaceId, limit: 20 } },
  handle: async ({ ai, query }) => list('AI jobs', await ai.reader.jobs(query.workspaceId, pageRequest(query))),
})

export const cancelAiJob = operation({
  route: 'POST /api/ai/jobs/{id}/cancel',
  summary: 'Cancel an AI job',
  description: 'Releases its credits at once. Work that is running stops within about two seconds.',
  access: 'ai:use',
  workspace: owner('ai_jobs'),
  turn: true,
  path: AiJobPath,
  returns: { 200: Envelope(AiJob) },
  errors: [NotFound, Conflict],
  example: JOB,
  handle: async ({ ai, path, turn }) => ok('AI job cancelled', await ai.requests.cancel(turn, path.id)),
})

export const deriveStyle = operation({
  route: 'POST /api/ai/style',
  summary: 'Derive the writing style from past posts',
  description:
    'The job measures the 200 newest published posts: language, length, hashtags, emoji and closing, each finding with posts that show it, and suggests AI settings. It costs one credit, and no model takes part. It needs at least three published posts.',
  access: 'ai:use',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewStyle,
  returns: { 202: Envelope(AiJob) },
  errors: [InsufficientCredits, AiLimitReached, NotEnoughPosts],
  example: { body: { workspaceId } },
  handle: async ({ ai, caller, turn }) => accepted('Style requested', await ai.requests.style(turn, caller.userId)),
})

export const getAiUsage = operation({
  route: 'GET /api/ai/usage',
  summary: 'Get your AI credits and their use',
  description: 'The work in a workspace uses the credits of its owner.',
  access: 'user',
  returns: { 200: Envelope(AiUsage) },
  example: {},
  handle: async ({ ai, caller }) => ok('AI usage', await ai.reader.usage(caller.userId)),
})

export const getAiUsageSeries = operation({
  route: 'GET /api/ai/usage/series',
  summary: 'Get the use of your AI credits by day',
  description:
    'Read from the ledger, so that the days add up to the entries of the kind `credit_use`. At most 366 days.',
  access: 'user',
  query: UsageSeriesQuery,
  returns: { 200: Envelope(AiUsageSeries) },
  errors: [ValidationFailed],
  example: { query: { from: '2026-11-01T00:00:00Z', to: '2026-11-07T00:00:00Z' } },
  handle: async ({ ai, caller, query }) => ok('AI usage', await ai.reader.series(caller.userId, query)),
})

const OF_WORKSPACE = { access: 'workspace:manage', workspace: from.path('workspaceId'), path: AiProviderPath } as const

export const getAiProvider = operation({
  route: 'GET /api/workspaces/{workspaceId}/ai-provider',
  summary: 'Get the AI provider of a workspace',
  description: 'Returns 404 if the workspace uses the provider of the server.',
  ...OF_WORKSPACE,
  returns: { 200: Envelope(WorkspaceAiProvider) },
  errors: [NotFound],
  example: { path: { workspaceId } },
  handle: async ({ ai, path }) => ok('AI provider', await ai.connections.read(path.workspaceId)),
})

export const setAiProvider = operation({
  route: 'PUT /api/workspaces/{workspaceId}/ai-provider',
  summary: 'Set the AI provider of a workspace',
  description:
    'Captions and analyses use its models, and transcripts its `transcriptionModel`, instead of those of the server. The key is stored encrypted, and sent only to `baseUrl`. The prices in credits stay the same. Jobs that were requested earlier use the new provider if it has their model, and fail otherwise.',
  ...OF_WORKSPACE,
  turn: true,
  body: NewAiProvider,
  returns: { 200: Envelope(WorkspaceAiProvider) },
  errors: [ValidationFailed, UrlRefused],
  example: {
    path: { workspaceId },
    body: { baseUrl: 'https://api.example.com/v1', key: 'sk-example', models: ['small', 'large'] },
  },
  handle: async ({ ai, body, turn }) => ok('AI provider saved', await ai.connections.save(turn, body)),
})

export const removeAiProvider = operation({
  route: 'DELETE /api/workspaces/{workspaceId}/ai-provider',
  summary: 'Remove the AI provider of a workspace',
  description:
    'The workspace uses the provider of the server again. Deletes the key. Jobs that were requested with it and have not started fail, and use no credits.',
  ...OF_WORKSPACE,
  turn: true,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { workspaceId } },
  handle: async ({ ai, turn }) => {
    await ai.connections.remove(turn)
    return done('AI provider removed')
  },
})

export const getAiSpending = operation({
  route: 'GET /api/workspaces/{workspaceId}/ai-spending',
  summary: 'Get the AI credits that a workspace uses this month',
  description: 'Includes the credits that are left of `creditLimitPerMonth` in the AI settings.',
  access: 'ai:use',
  workspace: from.path('workspaceId'),
  path: AiProviderPath,
  returns: { 200: Envelope(AiSpending) },
  errors: [NotFound],
  example: { path: { workspaceId } },
  handle: async ({ ai, path }) => ok('AI spending', await ai.reader.spending(path.workspaceId)),
})
