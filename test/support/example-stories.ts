import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { announceMedia } from '../fixtures/live/media-nodes.ts'
import { fixtures, lists, rows } from './fixtures.ts'
import { newName, type Prepared, type Stage } from './stage.ts'
import { startGitHub, type FakeGitHub } from './github.ts'
import { PIXEL } from './pixel.ts'
import { seedMember, seedUser } from './seed.ts'

/** Outside servers that examples need. */
export interface Outside {
  readonly github: FakeGitHub
  /** Serves a picture at every path. */
  readonly pictures: { readonly url: string; close(): Promise<void> }
}

export async function startOutside(): Promise<Outside> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'image/png', 'Content-Length': PIXEL.length }).end(PIXEL)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { github: await startGitHub(), pictures: { url, close } }
}

/** The number of rows in a list, and the limit in its example. */
export const LISTED = { rows: 3, limit: 2 }

/**
 * Requests by operation, for those whose generated request gets an uninformative reply or an error.
 */
export const stories: Readonly<Record<string, (stage: Stage, outside: Outside) => Promise<Prepared>>> = {
  getPlatform: async (stage) => {
    const body = { workspaceId: stage.workspaceId, platform: 'mastodon', sandbox: true }
    const { app, owner } = stage
    const connected = await app.send('POST /api/social-accounts', { apiKey: owner.apiKey, body })
    return { path: { platform: 'mastodon' }, query: { accountId: connected.body.data._id as string } }
  },
  listTags: async (stage) => {
    await tagged(stage)
    return {}
  },
  listFolders: async (stage) => {
    for (let made = 0; made < 2; made += 1) await rows['asset_folders']?.(stage)
    return {}
  },
  getStorageUsage: async (stage) => {
    await rows['assets']?.(stage)
    return {}
  },
  deleteAssets: async (stage) => ({ body: await ofOneAsset(stage) }),
  resolveAssets: async (stage) => ({ body: await ofOneAsset(stage) }),
  signInWithProvider: (_stage, { github }) => {
    const email = 'grace@example.com'
    const emails = [{ email, primary: true, verified: true }]
    const body = github.authorize({ id: 1, login: 'grace', name: 'Grace Hopper', emails })
    return Promise.resolve({ path: { provider: 'github' }, body })
  },
  addChannelMembers: async (stage) => {
    const { path } = await fixtures['addChannelMembers']!(stage)
    return { ...(path && { path }), body: { userIds: [(await editor(stage)).id] } }
  },
  removeChannelMember: async (stage) => {
    const { id } = await editor(stage)
    const body = { kind: 'channel', name: newName('channel'), private: true, memberIds: [id] }
    const { apiKey } = stage.owner
    const path = { workspaceId: stage.workspaceId }
    const made = await stage.app.send('POST /api/team/{workspaceId}/channels', { apiKey, path, body })
    return { path: { channelId: made.body.data._id, userId: id } }
  },
  getRelayHealth: (stage) => {
    announceMedia(stage)
    return Promise.resolve({})
  },
  updateMember: async (stage) => ({ path: { userId: (await editor(stage)).id } }),
  leaveWorkspace: async (stage) => ({ as: { apiKey: (await editor(stage)).apiKey } }),
  syncEvents: async (stage) => {
    await lists['listGroups']?.(stage, 2)
    return {}
  },
  validateMediaUrl: ({ workspaceId }, { pictures }) =>
    Promise.resolve({ body: { workspaceId, url: `${pictures.url}/photo.png`, platforms: ['instagram'] } }),
}

async function tagged({ app, owner, workspaceId }: Stage): Promise<void> {
  const body = { workspaceId, tags: ['launch'] }
  await app.send('POST /api/assets/upload', {
    apiKey: owner.apiKey,
    body,
    file: { name: 'stage.png', content: PIXEL, type: 'image/png' },
  })
}

async function ofOneAsset(stage: Stage): Promise<object> {
  return { workspaceId: stage.workspaceId, ids: [await rows['assets']?.(stage)] }
}

async function editor({ app, workspaceId }: Stage) {
  const user = await seedUser(app, newName('person'))
  await seedMember(app, workspaceId, user, { role: 'editor' })
  return user
}
