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
import { uuidv7 } from '../../../tools/id.ts'
import { aiSettingsOf } from '../../workspace/workspaces/index.ts'
import { asset } from '../assets/fixtures.ts'
import type * as operations from './operations.ts'
import { aiJobs } from './tables.ts'

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

/** A queued job, as a row: one that was asked for over the API may have ended before the next request. */
async function aiJob(stage: Stage): Promise<string> {
  const { database, clock, composition } = stage.app
  const { id: payerId } = stage.owner
  const now = clock.now()
  const at = new Date(now)
  const id = uuidv7(now)
  const reserved = { userId: payerId, amount: 1, reference: `ai:caption:${id}` }
  const { credits } = composition.services.ledger
  const reservation = await database.transaction((sql) => credits.reserve(sql, reserved))
  await aiJobs.insert(database, {
    id,
    workspaceId: stage.workspaceId,
    kind: 'caption',
    state: 'queued',
    progress: 0,
    assetId: null,
    request: {
      text: `${newName('post')}. We talk about the tour.`,
      platforms: [],
      variantCount: 1,
      settings: await aiSettingsOf(database, stage.workspaceId),
    },
    provider: 'built_in',
    model: null,
    jobId: uuidv7(now),
    payerId,
    reservationId: reservation._id,
    creditsReserved: 1,
    creditsUsed: null,
    style: null,
    analysis: null,
    ignoredSettings: [],
    error: null,
    createdBy: payerId,
    finishedAt: null,
    createdAt: at,
    updatedAt: at,
  })
  return id
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
