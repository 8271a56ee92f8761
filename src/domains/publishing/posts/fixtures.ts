import { DAY } from '../../../core/clock.ts'
import {
  inWorkspace,
  make,
  newName,
  times,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { addFault, refuseNext } from '../../../../test/support/sandbox-faults.ts'
import { waitFor } from '../../../../test/support/wait.ts'
import type * as bulkChanges from '../writing/bulk-changes/operations.ts'
import type * as bulkOperations from '../writing/bulk/operations.ts'
import type * as comments from '../writing/comments/operations.ts'
import type * as numbers from '../publication/numbers/operations.ts'
import type * as operations from './operations.ts'
import type * as queueOperations from '../planning/slots/operations.ts'
import type * as remote from '../remote/operations.ts'
import type { PostData } from './schemas.ts'
import type * as publication from '../publication/operations.ts'
import type * as series from '../writing/series/operations.ts'
import { postSeries } from '../writing/series/tables.ts'
import type * as versions from '../writing/versions/operations.ts'
import type * as writing from '../writing/operations.ts'

type Operations = typeof operations &
  typeof writing &
  typeof bulkOperations &
  typeof bulkChanges &
  typeof comments &
  typeof publication &
  typeof queueOperations &
  typeof versions &
  typeof remote &
  typeof numbers &
  typeof series

export const rows: Rows = {
  posts: (stage) => post(stage),
  post_batches: (stage) => batch(stage),
  post_bulk_changes: (stage) => bulkChange(stage),
  post_series: (stage) => recurring(stage),
}

export const lists: Lists<Operations> = {
  listPosts: times((stage) => post(stage)),
  listPostSeries: times((stage) => recurring(stage)),
  listBulkBatches: times((stage) => batch(stage)),
  listBulkChanges: times((stage) => bulkChange(stage)),
  getPostVersions: async (stage, count) => {
    const id = await post(stage)
    for (let made = 1; made < count; made += 1) {
      await change(stage, 'PATCH /api/posts/{id}', { id }, { content: newName('post') })
    }
    return { path: { id } }
  },
  listPostAttempts: async (stage, count) => {
    const id = await failed(stage)
    for (let made = 1; made < count; made += 1) {
      await refuseNext(stage.app, 'mastodon', '/api/v1/statuses')
      await change(stage, 'POST /api/posts/{id}/retry', { id }, {})
      await reaches(stage, id, 'failed')
    }
    return { path: { id } }
  },
  listUpcomingPosts: times((stage) => post(stage, { scheduledFor: tomorrow(stage) })),
  listDeletedPosts: times(async (stage) => {
    await change(stage, 'DELETE /api/posts/{id}', { id: await post(stage) }, {})
  }),
  listPostComments: async (stage, count) => {
    const id = await post(stage)
    for (let made = 0; made < count; made += 1) await comment(stage, id)
    return { path: { id } }
  },
}

const LATER = { scheduledFor: '2099-11-30T09:00', timezone: 'Europe/Berlin' }

export const fixtures: Fixtures<Operations> = {
  createPost: async (stage) => ({ body: { ...inWorkspace(stage), ...(await content(stage)) } }),
  createPostsBulk: async (stage) => ({ body: { ...inWorkspace(stage), posts: [await content(stage)] } }),
  undoBulkBatch: async (stage) => ({ path: { batchId: await batch(stage) }, once: true }),
  reschedulePosts: async (stage) => ({
    body: { ...inWorkspace(stage), postIds: [await post(stage, LATER)], shift: { days: 1 } },
  }),
  cancelPosts: async (stage) => ({ body: { ...inWorkspace(stage), postIds: [await post(stage, LATER)] } }),
  labelPosts: async (stage) => ({
    body: { ...inWorkspace(stage), postIds: [await post(stage)], addLabels: [newName('board')] },
  }),
  undoBulkChange: async (stage) => ({ path: { changeId: await bulkChange(stage, stage.caller.apiKey) }, once: true }),
  copyPost: async (stage) => ({ path: { id: await post(stage) } }),
  updatePost: async (stage) => ({ path: { id: await post(stage) } }),
  validatePost: async (stage) => ({ body: { ...inWorkspace(stage), ...(await content(stage)) } }),
  reschedulePost: async (stage) => ({ path: { id: await post(stage) }, body: LATER }),
  publishPost: async (stage) => ({ path: { id: await post(stage) }, once: true }),
  cancelPost: async (stage) => ({ path: { id: await post(stage, LATER) }, once: true }),
  restorePostVersion: async (stage) => ({ path: { id: await post(stage), version: '1' } }),
  addPostComment: async (stage) => ({ path: { id: await post(stage) } }),
  deletePostComment: async (stage) => {
    const id = await post(stage)
    return { path: { id, commentId: await comment(stage, id) }, as: { apiKey: stage.owner.apiKey } }
  },
  updatePostComment: async (stage) => {
    const id = await post(stage)
    return { path: { id, commentId: await comment(stage, id) }, as: { apiKey: stage.owner.apiKey } }
  },
  resolvePostComment: async (stage) => {
    const id = await post(stage)
    return { path: { id, commentId: await comment(stage, id) } }
  },
  reopenPostComment: async (stage) => {
    const id = await post(stage)
    const path = { id, commentId: await comment(stage, id) }
    await change(stage, 'POST /api/posts/{id}/comments/{commentId}/resolve', path, {})
    return { path }
  },
  restorePost: async (stage) => {
    const id = await post(stage, LATER)
    await change(stage, 'DELETE /api/posts/{id}', { id }, {})
    return { path: { id }, once: true }
  },
  deletePosts: async (stage) => ({ body: { ...inWorkspace(stage), ids: [await post(stage)] } }),
  retryPost: async (stage) => ({ path: { id: await failed(stage) }, once: true }),
  updatePostSeries: async (stage) => ({ path: { seriesId: await recurring(stage) } }),
  endPostSeries: async (stage) => ({ path: { seriesId: await recurring(stage) }, once: true }),
  resumePostSeries: async (stage) => {
    const seriesId = await recurring(stage)
    // A series is paused when its author loses access. Here the author is the owner, who cannot.
    await postSeries.update(stage.app.database, { id: seriesId }, { status: 'paused' })
    return { path: { seriesId }, once: true }
  },
  skipPostOccurrence: async (stage) => ({
    path: { seriesId: await recurring(stage), occurrence: '2099-12-02T09:00:00' },
    once: true,
  }),
  settlePostTarget: async (stage) => ({ path: await unconfirmed(stage), once: true }),
}

function tomorrow({ app }: Stage): string {
  return new Date(app.clock.now() + DAY).toISOString()
}

/** A sandbox account, and a text for it. Plans limit the accounts that all fixtures together connect. */
async function content(stage: Stage) {
  const { app, owner, workspaceId } = stage
  const query = { workspaceId, platform: 'mastodon', limit: 1 }
  const known = (await app.send('GET /api/social-accounts', { apiKey: owner.apiKey, query })).body.data[0]?._id
  const account = { ...inWorkspace(stage), platform: 'mastodon', sandbox: true }
  const accountId = known ?? (await make(stage, 'POST /api/social-accounts', account))
  return { content: newName('post'), targets: [{ accountId }] }
}

/** A batch of one post. */
async function batch(stage: Stage): Promise<string> {
  const { app, owner } = stage
  const body = { ...inWorkspace(stage), posts: [await content(stage)] }
  const reply = await app.send('POST /api/posts/bulk', { apiKey: owner.apiKey, body })
  if (reply.status !== 201) throw new Error(`a batch for a fixture: ${reply.text}`)
  return (reply.body.data as { batchId: string }).batchId
}

/** A bulk change of one post. */
async function bulkChange(stage: Stage, apiKey = stage.owner.apiKey): Promise<string> {
  const body = { ...inWorkspace(stage), postIds: [await post(stage)], addLabels: [newName('board')] }
  const reply = await stage.app.send('POST /api/posts/bulk/label', { apiKey, body })
  if (reply.status !== 200) throw new Error(`a bulk change for a fixture: ${reply.text}`)
  return (reply.body.data as { changeId: string }).changeId
}

async function post(stage: Stage, extra: object = {}): Promise<string> {
  return make(stage, 'POST /api/posts', { ...inWorkspace(stage), ...(await content(stage)), ...extra })
}

/** A post that recurs daily. @returns the id of its series */
async function recurring(stage: Stage): Promise<string> {
  const { app, owner } = stage
  const body = { ...inWorkspace(stage), ...(await content(stage)), ...LATER, recurrence: { rrule: 'FREQ=DAILY' } }
  const reply = await app.send('POST /api/posts', { apiKey: owner.apiKey, body })
  if (reply.status !== 201) throw new Error(`a series for a fixture: ${reply.text}`)
  return (reply.body.data as { seriesId: string }).seriesId
}

async function change({ app, owner }: Stage, route: string, path: Record<string, string>, body: object) {
  const reply = await app.send(route, { apiKey: owner.apiKey, path, body })
  if (reply.status >= 300) throw new Error(`${route} for a fixture: ${reply.text}`)
  return reply.body.data as { readonly _id: string }
}

async function comment(stage: Stage, id: string): Promise<string> {
  const body = { body: 'Can we use the other picture?' }
  return (await change(stage, 'POST /api/posts/{id}/comments', { id }, body))._id
}

/** A post that its platform has refused. */
async function failed(stage: Stage): Promise<string> {
  await dropFlow(stage)
  await refuseNext(stage.app, 'mastodon', '/api/v1/statuses')
  const id = await post(stage, { publishNow: true })
  await reaches(stage, id, 'failed')
  return id
}

/** Fixtures of approvals may have added a flow, with which the post would wait for approval. */
async function dropFlow({ app, owner, workspaceId }: Stage): Promise<void> {
  await app.send('DELETE /api/approvals/{workspaceId}/flow', { apiKey: owner.apiKey, path: { workspaceId } })
}

/** A post whose platform lets nobody look up posts, and whose reply was lost. */
async function unconfirmed(stage: Stage): Promise<{ id: string; targetId: string }> {
  const platform = 'telegram'
  await dropFlow(stage)
  await addFault(stage.app, platform, { path: '/sendMessage', kind: 'cut', times: 1 })
  const accountId = await make(stage, 'POST /api/social-accounts', { ...inWorkspace(stage), platform, sandbox: true })
  const id = await post(stage, { publishNow: true, targets: [{ accountId }] })
  const { targets } = await reaches(stage, id, 'unconfirmed')
  return { id, targetId: targets[0]?._id ?? '' }
}

function reaches({ app, owner }: Stage, id: string, status: string): Promise<PostData> {
  return waitFor(async () => {
    const reply = await app.send('GET /api/posts/{id}', { apiKey: owner.apiKey, path: { id } })
    const found = reply.body.data as PostData
    return found.status === status ? found : undefined
  })
}
