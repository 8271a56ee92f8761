import {
  inWorkspace,
  make,
  newName,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type * as operations from './operations.ts'
import { analyticsContent } from './tables.ts'

export const rows: Rows = { analytics_content: (stage) => record(stage) }

export const lists: Lists<typeof operations> = {
  listContentAnalytics: async (stage, count) => {
    const accountId = await account(stage)
    for (let made = 0; made < count; made += 1) await record(stage, accountId)
    return {}
  },
}

export const fixtures: Fixtures<typeof operations> = {
  syncAnalytics: async (stage) => {
    await make(stage, 'POST /api/social-accounts', { ...inWorkspace(stage), platform: 'mastodon', sandbox: true })
    return {}
  },
  getPlatformStats: read,
  getPlatformTimeSeries: read,
  getFollowerTrend: read,
  getReportData: read,
  exportReportHtml: read,
  exportReportPdf: read,
}

/** An account of the workspace, as few as possible, because plans limit them. */
async function account(stage: Stage): Promise<string> {
  const { app, owner, workspaceId } = stage
  const query = { workspaceId, platform: 'mastodon', limit: 1 }
  const known = (await app.send('GET /api/social-accounts', { apiKey: owner.apiKey, query })).body.data[0]?._id
  return (
    known ?? make(stage, 'POST /api/social-accounts', { ...inWorkspace(stage), platform: 'mastodon', sandbox: true })
  )
}

/** An account that was read once. */
async function read(stage: Stage) {
  const accountId = await account(stage)
  const { analytics } = stage.app.composition.services
  await stage.app.database.transaction((tx) =>
    analytics.watch.add(tx, { id: accountId, platform: 'mastodon', workspaceId: stage.workspaceId }),
  )
  await analytics.collector.collect(accountId, AbortSignal.timeout(10_000), (work) =>
    stage.app.database.transaction(work),
  )
  return {}
}

/** A record of a post with figures. */
async function record(stage: Stage, accountId?: string): Promise<string> {
  const { app, workspaceId } = stage
  const owner = accountId ?? (await account(stage))
  const { analytics } = app.composition.services
  const now = app.clock.now()
  const id = uuidv7(now)
  const at = new Date(now).toISOString()
  await app.database.transaction(async (tx) => {
    await analytics.watch.add(tx, { id: owner, platform: 'mastodon', workspaceId })
    const remote = { id: uuidv7(now), url: `https://sandbox.example/${id}` }
    await analyticsContent.insert(tx, {
      id,
      workspaceId,
      accountId: owner,
      platform: 'mastodon',
      remoteId: remote.id,
      remote,
      origin: 'elsewhere',
      text: newName('post'),
      url: remote.url,
      publishedAt: at,
      collectedAt: at,
      createdAt: at,
      updatedAt: at,
    })
    const sample = { contentId: id, at: now, source: 'list' as const, fromZero: true }
    await analytics.recorder.record(tx, { accountId: owner, zone: 'UTC' }, [
      { ...sample, figure: 'likes', value: 12 },
      { ...sample, figure: 'comments', value: 3 },
    ])
  })
  return id
}
