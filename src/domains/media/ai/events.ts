import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type, type Static } from '../../../core/schema.ts'
import { WorkspaceAiProvider } from './connection/schemas.ts'
import { AiJob } from './schemas.ts'

const { aiJobId, assetId, captionId, jobId, userId, workspaceId } = EXAMPLE
const times = { createdAt: EXAMPLE_TIME, updatedAt: EXAMPLE_TIME }

const aiJob: Static<typeof AiJob> = {
  _id: aiJobId,
  ...times,
  workspaceId,
  kind: 'caption',
  state: 'done',
  progress: 100,
  jobId,
  assetId,
  provider: 'built_in',
  model: null,
  creditsReserved: 3,
  creditsUsed: 1,
  result: {
    captions: [
      {
        _id: captionId,
        ...times,
        workspaceId,
        aiJobId,
        assetId,
        variantNumber: 1,
        platform: null,
        title: null,
        content: 'The band on stage in front of a red curtain.\n\n#live #stage',
        hashtags: ['#live', '#stage'],
        shortened: false,
        origin: 'selected',
        model: null,
        promptVersion: null,
      },
    ],
    style: null,
    analysis: null,
    transcript: null,
    ignoredSettings: ['tone', 'language'],
  },
  error: null,
  createdBy: userId,
  finishedAt: EXAMPLE_TIME,
}

export const aiJobCreated = event({
  name: 'aiJob.created',
  summary: 'Work with AI credits was requested',
  description: 'While it runs, `job.progress` reports its progress.',
  scope: 'ai:use',
  data: AiJob,
  example: { ...aiJob, state: 'queued', progress: 0, creditsUsed: null, result: null, finishedAt: null },
})

export const aiJobUpdated = event({
  name: 'aiJob.updated',
  summary: 'An AI job is done, has failed or was cancelled',
  scope: 'ai:use',
  data: AiJob,
  example: aiJob,
})

export const aiProviderUpdated = event({
  name: 'aiProvider.updated',
  summary: 'A workspace has configured its own AI provider',
  scope: 'workspace:manage',
  data: WorkspaceAiProvider,
  example: {
    ...times,
    workspaceId,
    baseUrl: 'https://api.example.com/v1',
    hasKey: true,
    models: ['small', 'large'],
    transcriptionModel: null,
  },
})

export const aiProviderRemoved = event({
  name: 'aiProvider.removed',
  summary: 'A workspace uses the AI provider of the server again',
  scope: 'workspace:manage',
  data: Type.Object({ workspaceId: { ...Id, description: 'The workspace whose provider was removed' } }),
  example: { workspaceId },
})
