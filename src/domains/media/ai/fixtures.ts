import {
  inWorkspace,
  newName,
  times,
  type Fixtures,
  type Lists,
  type Prepared,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { asset } from '../assets/fixtures.ts'
import type * as operations from './operations.ts'

export const rows: Rows = { ai_jobs: aiJob }

export const lists: Lists<typeof operations> = {
  listAiJobs: times(aiJob),
  getSavedCaptions: times(caption),
}

export const fixtures: Fixtures<typeof operations> = {
  getAiProvider: withProvider,
  setAiProvider: withProvider,
  removeAiProvider: withProvider,
  generateCaption: async (stage) => ({
    body: { ...inWorkspace(stage), assetId: await asset(stage), variantCount: 2 },
  }),
  analyzeWithAi: async (stage) => ({ body: { ...inWorkspace(stage), question: 'Where did we grow?' } }),
  getAiAnalysis: async (stage) => ({ path: { id: await analysis(stage) } }),
  // The asset of the stage is a picture.
  transcribe: async (stage) => ({
    body: { ...inWorkspace(stage), assetId: await asset(stage) },
    error: 'not_transcribable',
  }),
  // The workspace of the stage has no published posts.
  deriveStyle: async () => ({ error: 'not_enough_posts' }),
}

async function aiJob(stage: Stage): Promise<string> {
  const body = { ...inWorkspace(stage), text: `${newName('post')}. We talk about the tour.`, variantCount: 1 }
  const reply = await stage.app.send('POST /api/ai/captions', { apiKey: stage.owner.apiKey, body })
  if (reply.status !== 202) throw new Error(`an AI job for a fixture: ${reply.text}`)
  return reply.body.data._id
}

async function withProvider(stage: Stage): Promise<Prepared> {
  const body = { baseUrl: 'https://api.example.com/v1', key: 'sk-fixture', models: ['small'] }
  const path = { workspaceId: stage.workspaceId }
  const { apiKey } = stage.owner
  await stage.app.send('PUT /api/workspaces/{workspaceId}/ai-provider', { apiKey, path, body })
  return {}
}

async function analysis(stage: Stage): Promise<string> {
  const reply = await stage.app.send('POST /api/analytics/ai-analysis', {
    apiKey: stage.owner.apiKey,
    body: inWorkspace(stage),
  })
  if (reply.status !== 202) throw new Error(`an analysis for a fixture: ${reply.text}`)
  return reply.body.data._id
}

/** A job, run at once. */
async function caption(stage: Stage): Promise<void> {
  const id = await aiJob(stage)
  const { log } = stage.app.node.resources
  await stage.app.composition.services.ai.runner.run(id, {
    signal: new AbortController().signal,
    last: true,
    log,
    progress: () => undefined,
  })
}
