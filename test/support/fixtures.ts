import type { Example } from '../../src/core/operation.ts'
import type { App } from './app.ts'
import type { NameKind } from './example-names.ts'
import { PIXEL } from './pixel.ts'
import { PASSWORD, seedMember, seedUser, seedWorkspace, type SeededUser } from './seed.ts'
import type { SendOptions } from './send.ts'
import { invitationToken } from './team.ts'

/** The environment in which the generated tests send an operation's example. */
export interface Stage {
  readonly app: App
  /** A workspace on a large plan. */
  readonly workspaceId: string
  readonly owner: SeededUser
  /** The caller, who has the scope that the operation needs. */
  readonly caller: SeededUser
}

/** What a fixture changes in the example, beyond the ids that the stage replaces. */
export interface Prepared extends Example {
  /** A different caller. */
  readonly as?: SendOptions
  /** The declared error that is the expected reply; a 2xx when absent. */
  readonly error?: string
  /** The request cannot be repeated, because it uses up its credential. */
  readonly once?: true
}

/** Creates a row of a table that operations name with `owner(table)`. @returns its id */
type RowMaker = (stage: Stage) => Promise<string>

/** By table. */
export const rows: Readonly<Record<string, RowMaker>> = {
  streams: async (stage) => {
    const body = { workspaceId: stage.workspaceId, title: 'A stream', platforms: [await destination(stage)] }
    return make(stage, 'POST /api/streams', body)
  },
  rtmp_destinations: rtmpDestination,
  assets: asset,
  asset_folders: (stage) => make(stage, 'POST /api/assets/folders', { ...inWorkspace(stage), name: newName('folder') }),
  uploads: sentUpload,
}

/** Fixtures by operation, for those whose example needs preparation. */
export const fixtures: Readonly<Record<string, (stage: Stage) => Promise<Prepared>>> = {
  verifyEmail: async ({ app }) => {
    const email = newAddress()
    await app.send('POST /api/auth/signup', { body: { email, password: PASSWORD } })
    return { body: { email, otp: await app.outbox.code(email) } }
  },
  login: async ({ caller }) => ({ body: { email: caller.email, password: PASSWORD } }),
  signInWithProvider: async () => ({ error: 'provider_not_configured' }),
  resetPassword: async ({ app }) => {
    const { email } = await seedUser(app, newName('person'))
    await app.send('POST /api/auth/forgot-password', { body: { email } })
    const mail = await app.outbox.newest(email, /password/i)
    return { body: { token: /token=([\w-]+)/.exec(mail.text ?? '')?.[1], password: 'another fine long password' } }
  },
  refreshToken: async ({ app, caller }) => ({ body: { refreshToken: (await logIn(app, caller)).refreshToken } }),
  goLive: async (stage) => {
    announceMedia(stage)
    return {}
  },
  previewStream: async () => ({ error: 'conflict' }),
  whepPlay: async (stage) => ({ ...(await whepCredential(stage, 'application/sdp')), error: 'conflict' }),
  whepDelete: async (stage) => ({ ...(await whepCredential(stage)), error: 'conflict' }),
  broadcastFile: async (stage) => {
    announceMedia(stage)
    return { body: { assetId: await playableAsset(stage) } }
  },
  getBroadcast: async (stage) => ({ path: { id: await scheduledBroadcast(stage) } }),
  updateBroadcast: async (stage) => ({ path: { id: await scheduledBroadcast(stage) }, body: { loop: true } }),
  cancelBroadcast: async (stage) => ({ path: { id: await scheduledBroadcast(stage) }, once: true }),
  stopStream: async (stage) => ({ path: { id: await startedStream(stage) } }),
  whipPublish: async (stage) => {
    const { as, path } = await whipCredential(stage, 'application/sdp')
    return { as, path, error: 'media_unavailable' }
  },
  whipTrickle: async (stage) => {
    const { as, path } = await whipCredential(stage, 'application/trickle-ice-sdpfrag')
    return { as, path, error: 'not_found' }
  },
  whipDelete: async (stage) => ({ ...(await whipCredential(stage)), error: 'not_found' }),
  switchInput: async (stage) => {
    announceMedia(stage)
    return { error: 'conflict' }
  },
  retryDestination: async (stage) => {
    const id = await startedStream(stage)
    const shown = await stage.app.send('GET /api/streams/{id}', { apiKey: stage.owner.apiKey, path: { id } })
    return { path: { id, destinationId: shown.body.data.platforms[0]._id } }
  },
  revokeSession: async ({ app, caller }) => {
    const { accessToken } = await logIn(app, caller)
    const listed = await app.send('GET /api/auth/sessions', { token: accessToken })
    return { path: { id: (listed.body.data as { _id: string }[])[0]?._id ?? '' } }
  },
  getApiKey: async (stage) => ({ path: { id: await apiKey(stage) } }),
  updateApiKey: async (stage) => ({ path: { id: await apiKey(stage) } }),
  revokeApiKey: async (stage) => ({ path: { id: await apiKey(stage) } }),
  regenerateApiKey: async ({ app }) => {
    const { apiKey } = await seedUser(app, newName('person'))
    return { as: { apiKey }, once: true }
  },
  deleteWorkspace: async ({ app, owner }) => {
    const name = newName('workspace')
    return {
      as: { apiKey: owner.apiKey },
      path: { workspaceId: await seedWorkspace(app, name, owner) },
      body: { name },
    }
  },
  getInvitation: async (stage) => ({ path: { token: (await invitation(stage)).token } }),
  acceptInvitation: (stage) => answerInvitation(stage, 'token'),
  declineInvitation: (stage) => answerInvitation(stage, 'id'),
  // The caller has only team:manage, so they cannot grant more.
  inviteMember: async (stage) => ({ body: { email: newAddress(), roleId: await emptyRole(stage) } }),
  revokeInvitation: async (stage) => ({ path: { id: (await invitation(stage)).id } }),
  resendInvitation: async (stage) => ({ path: { id: (await invitation(stage)).id } }),
  updateMember: async (stage) => ({ path: { userId: await member(stage) }, body: { scopes: ['team:manage'] } }),
  removeMember: async (stage) => ({ path: { userId: await member(stage) } }),
  leaveWorkspace: async () => ({ once: true }),
  createRole: async () => ({ body: { name: newName('role'), scopes: ['team:manage'] } }),
  updateRole: async (stage) => ({ path: { id: await emptyRole(stage) }, body: { scopes: ['team:manage'] } }),
  deleteRole: async (stage) => ({
    path: { id: await emptyRole(stage) },
    query: { replaceWith: await emptyRole(stage) },
  }),
  getGroup: async (stage) => ({ path: { id: await group(stage) } }),
  createGroup: async () => ({ body: { name: newName('group'), memberIds: [], scopes: ['team:manage'] } }),
  updateGroup: async (stage) => ({ path: { id: await group(stage) }, body: { name: newName('group') } }),
  deleteGroup: async (stage) => ({ path: { id: await group(stage) } }),
  retryQueueJob: async (stage) => ({ path: { id: await deadJob(stage) } }),
  createChannel: async () => ({ body: { kind: 'channel', name: newName('channel') } }),
  getChannel: async (stage) => ({ path: { channelId: await channel(stage) } }),
  syncChannel: async (stage) => ({ path: { channelId: await channel(stage) } }),
  updateChannel: async (stage) => ({ path: { channelId: await channel(stage) } }),
  deleteChannel: async (stage) => ({ path: { channelId: await channel(stage) } }),
  addChannelMembers: async (stage) => ({
    path: { channelId: await privateChannel(stage) },
    body: { userIds: [await member(stage)] },
  }),
  removeChannelMember: async (stage) => ({
    path: { channelId: await privateChannel(stage), userId: stage.caller.id },
    once: true,
  }),
  markChannelRead: async (stage) => ({ path: { channelId: await channel(stage) } }),
  listMessages: async (stage) => ({ path: { channelId: await channel(stage) } }),
  sendMessage: async (stage) => ({ path: { channelId: await channel(stage) } }),
  editMessage: async (stage) => ({ path: await message(stage), body: { pinned: true } }),
  deleteMessage: async (stage) => ({ path: await message(stage, stage.caller) }),
  reactToMessage: async (stage) => ({ path: await message(stage) }),
  downloadChatAttachment: async (stage) => ({ path: { attachmentId: await attachment(stage) } }),
  unreactToMessage: async (stage) => ({ path: await message(stage) }),
  getProfilePicture: async ({ app, caller }) => {
    const { apiKey } = caller
    const reply = await app.send('POST /api/users/me/picture', { apiKey, file: { name: 'a.png', content: PIXEL } })
    const [, , , , pictureId = '', size = ''] = (reply.body.data.pictureUrl as string).split('/')
    return { path: { pictureId, size } }
  },
  createFolder: async (stage) => ({ body: { ...inWorkspace(stage), name: newName('folder') } }),
  createSignedUpload: async (stage) => ({ body: { ...inWorkspace(stage), ...NEW_UPLOAD } }),
  createUpload: async (stage) => ({ body: { ...inWorkspace(stage), ...NEW_UPLOAD } }),
  putUpload: async (stage) => {
    const as = { headers: { 'Content-Type': 'image/png' } }
    const { pathname, searchParams } = new URL((await openUpload(stage)).url)
    return {
      path: { uploadId: pathname.split('/').at(-2) ?? '' },
      query: Object.fromEntries(searchParams),
      body: PIXEL,
      as,
    }
  },
  createUserWithApiKey: async () => ({ body: { email: newAddress(), name: 'Made by an administrator' } }),
  signUp: async () => ({ body: { email: newAddress(), password: PASSWORD } }),
}

/** By list operation: creates `count` rows, and returns what the example must change to list them. */
export const lists: Readonly<Record<string, (stage: Stage, count: number) => Promise<Prepared>>> = {
  listAssets: times(asset),
  listSessions: times(({ app, caller }) => logIn(app, caller)),
  getQueueJobs: times(deadJob, { query: { state: 'dead' } }),
  listStreams: times((stage) => rows['streams']?.(stage)),
  listRtmpDestinations: times(rtmpDestination),
  listStreamSessions: async (stage, many) => {
    const id = (await rows['streams']?.(stage)) ?? ''
    await stage.app.database.run(
      `insert into stream_sessions (id, stream_id, workspace_id, owner_id, started_at, destinations)
       select gen_random_uuid(), $1, $2, $3, $5::timestamptz - n * interval '1 day', '[]' from generate_series(1, $4) n`,
      [id, stage.workspaceId, stage.owner.id, many, new Date(stage.app.clock.now())],
    )
    return { path: { id } }
  },
  listMyInvitations: async (stage, many) => {
    const { apiKey, email } = await seedUser(stage.app, newName('person'))
    for (let made = 0; made < many; made += 1) {
      const workspaceId = await seedWorkspace(stage.app, newName('workspace'), stage.owner)
      await invitation({ ...stage, workspaceId }, email)
    }
    return { as: { apiKey } }
  },
  listInvitations: times((stage) => invitation(stage)),
  listGroups: times(group),
  listMembers: times(member),
  listWorkspaces: async ({ app }, many) => {
    const user = await seedUser(app, newName('person'), { plan: 'business' })
    for (let made = 0; made < many; made += 1) await seedWorkspace(app, newName('workspace'), user)
    return { as: { apiKey: user.apiKey } }
  },
  listAuditLog: times(group),
  listChannels: times(channel),
  listMessages: async (stage, many) => ({ path: { channelId: await messages(stage, many) } }),
  searchMessages: async (stage, many) => {
    await messages(stage, many)
    return { query: { q: 'something' } }
  },
  listUploads: times(openUpload),
  listApiKeys: times(({ app, caller: { apiKey } }) => {
    return app.send('POST /api/users/me/api-keys', { apiKey, body: { name: newName('key') } })
  }),
}

function times(makeOne: (stage: Stage) => unknown, prepared: Prepared = {}) {
  return async (stage: Stage, many: number): Promise<Prepared> => {
    for (let made = 0; made < many; made += 1) await makeOne(stage)
    return prepared
  }
}

/** Creates a channel with `many` messages. */
async function messages({ app, owner, workspaceId, ...stage }: Stage, many: number): Promise<string> {
  const channelId = await channel({ app, owner, workspaceId, ...stage })
  for (let made = 0; made < many; made += 1) {
    const sent = await app.send('POST /api/team/{workspaceId}/channels/{channelId}/messages', {
      apiKey: owner.apiKey,
      path: { workspaceId, channelId },
      body: { body: 'Something to page through' },
    })
    if (sent.status !== 201) throw new Error(`a message for a fixture: ${sent.text}`)
  }
  return channelId
}

/** Creates a dead job. */
async function deadJob({ app }: Stage): Promise<string> {
  const row = await app.database.row<{ id: string }>(
    `insert into outbox (id, name, queue, data, state, run_at, attempts, added, created_at, updated_at)
     values (gen_random_uuid(), 'auth.housekeeping', 'maintenance', '{}', 'dead', $1, 5, 1, $1, $1) returning id`,
    [new Date(app.clock.now())],
  )
  return row?.id ?? ''
}

/** Announces a media node. */
export function announceMedia({ app }: Stage): void {
  const status = {
    rtmpPort: 1935,
    rtmpsPort: null,
    previewPort: null,
    cpu: 0,
    uptimeSeconds: 1,
    connections: 0,
    renderings: { running: 0, most: 8 },
    whip: null,
    streams: [],
  }
  app.composition.services.mediaNodes.directory.announce({ nodeId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e90', status })
}

/** A credential that publishes an armed stream by WHIP. No media node uses it here; other tests cover media. */
async function whipCredential(stage: Stage, contentType?: string) {
  const id = (await rows['streams']?.(stage)) ?? ''
  const armed = await stage.app.send('POST /api/streams/{id}/arm', { apiKey: stage.owner.apiKey, path: { id } })
  const { whipToken, whipUrl } = armed.body.data as { whipToken: string; whipUrl: string }
  const authorization = { Authorization: `Bearer ${whipToken}` }
  const headers = contentType === undefined ? authorization : { ...authorization, 'Content-Type': contentType }
  return { path: { path: whipUrl.split('/').at(-1) ?? '' }, as: { headers } }
}

/** A credential that plays a stream without a publisher by WHEP. */
async function whepCredential(stage: Stage, contentType?: string) {
  const id = (await rows['streams']?.(stage)) ?? ''
  const { apiKey } = stage.owner
  const reply = await stage.app.send('POST /api/streams/{id}/preview-token', { apiKey, path: { id } })
  const { token } = reply.body.data as { token: string }
  const headers = { Authorization: `Bearer ${token}`, ...(contentType && { 'Content-Type': contentType }) }
  return { path: { id }, as: { headers } }
}

/** Creates a stream that waits for its publisher. */
async function startedStream(stage: Stage): Promise<string> {
  announceMedia(stage)
  const id = (await rows['streams']?.(stage)) ?? ''
  const { apiKey } = stage.owner
  const reply = await stage.app.send('POST /api/streams/{id}/go-live', {
    apiKey,
    path: { id },
    body: { waitForIngest: true },
  })
  if (reply.status !== 200) throw new Error(`a stream for a fixture did not start: ${reply.text}`)
  return id
}

/** Creates an asset that looks like a video that platforms accept. */
async function playableAsset(stage: Stage): Promise<string> {
  const id = await asset(stage)
  const probe = { streaming: { faults: [], seconds: 120, keyframeIntervalSeconds: 2 } }
  await stage.app.database.run(
    `update asset_files set kind = 'video', probe = $2 where id = (select file_id from assets where id = $1)`,
    [id, JSON.stringify(probe)],
  )
  return id
}

async function scheduledBroadcast(stage: Stage): Promise<string> {
  const id = (await rows['streams']?.(stage)) ?? ''
  const reply = await stage.app.send('POST /api/streams/{id}/broadcast', {
    apiKey: stage.owner.apiKey,
    path: { id },
    body: { assetId: await playableAsset(stage), scheduledFor: '2099-01-01T00:00:00Z' },
  })
  if (reply.status !== 201) throw new Error(`a broadcast for a fixture: ${reply.text}`)
  return id
}

const NEW_UPLOAD = { name: 'pixel.png', size: PIXEL.length, type: 'image/png' }

function inWorkspace({ workspaceId }: Stage): { workspaceId: string } {
  return { workspaceId }
}

async function openUpload(stage: Stage): Promise<{ uploadId: string; url: string }> {
  const { app, owner } = stage
  const body = { ...inWorkspace(stage), ...NEW_UPLOAD }
  const reply = await app.send('POST /api/assets/signed-upload', { apiKey: owner.apiKey, body })
  return reply.body.data
}

/** Creates an upload with all its bytes received. */
async function sentUpload(stage: Stage): Promise<string> {
  const { uploadId, url } = await openUpload(stage)
  const reply = await fetch(url, { method: 'PUT', body: PIXEL, headers: { 'Content-Type': 'image/png' } })
  if (reply.status !== 200) throw new Error(`an upload for a fixture: ${await reply.text()}`)
  return uploadId
}

async function asset(stage: Stage): Promise<string> {
  const reply = await stage.app.send('POST /api/assets/upload', {
    apiKey: stage.owner.apiKey,
    body: inWorkspace(stage),
    file: { name: `${newName('picture')}.png`, content: PIXEL },
  })
  if (reply.status !== 201) throw new Error(`an asset for a fixture: ${reply.text}`)
  return reply.body.data._id
}

let count = 0

/** A unique name. @param kind what it names; the example recorder replaces it by a readable name of this kind */
export function newName(kind: NameKind): string {
  count += 1
  return `${kind}-${count}`
}

function newAddress(): string {
  return `${newName('person')}@example.com`
}

async function apiKey({ app, caller }: Stage): Promise<string> {
  const reply = await app.send('POST /api/users/me/api-keys', { apiKey: caller.apiKey, body: { name: newName('key') } })
  if (reply.status !== 201) throw new Error(`an API key for a fixture: ${reply.text}`)
  return reply.body.data._id
}

async function logIn(app: App, { email }: SeededUser): Promise<{ accessToken: string; refreshToken: string }> {
  const reply = await app.send('POST /api/auth/login', { body: { email, password: PASSWORD } })
  if (reply.status !== 200) throw new Error(`${email} could not log in: ${reply.text}`)
  return reply.body.data
}

async function make(stage: Stage, route: string, body: object): Promise<string> {
  const { app, owner, workspaceId } = stage
  const reply = await app.send(route, { apiKey: owner.apiKey, path: { workspaceId }, body })
  if (reply.status !== 201) throw new Error(`${route} for a fixture: ${reply.text}`)
  return reply.body.data._id
}

function rtmpDestination(stage: Stage): Promise<string> {
  const body = {
    workspaceId: stage.workspaceId,
    name: newName('server'),
    url: 'rtmp://93.184.216.34/live',
    streamKey: 'secret-key',
  }
  return make(stage, 'POST /api/streams/rtmp-destinations', body)
}

async function destination(stage: Stage): Promise<{ platform: string; accountId: string }> {
  return { platform: 'custom', accountId: await rtmpDestination(stage) }
}

function emptyRole(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/team/{workspaceId}/roles', { name: newName('role'), scopes: [] })
}

function group(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/team/{workspaceId}/groups', { name: newName('group'), memberIds: [] })
}

function channel(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/team/{workspaceId}/channels', { kind: 'channel', name: newName('channel') })
}

/** Creates a private channel with the caller as a member. */
function privateChannel(stage: Stage): Promise<string> {
  const body = { kind: 'channel', name: newName('channel'), private: true, memberIds: [stage.caller.id] }
  return make(stage, 'POST /api/team/{workspaceId}/channels', body)
}

/** Creates an attachment of a message in a public channel. */
async function attachment(stage: Stage): Promise<string> {
  const { app, owner, workspaceId } = stage
  const uploaded = await app.send('POST /api/team/{workspaceId}/chat/attachments', {
    apiKey: owner.apiKey,
    path: { workspaceId },
    file: { name: 'pixel.png', content: PIXEL, type: 'image/png' },
  })
  const sent = await app.send('POST /api/team/{workspaceId}/channels/{channelId}/messages', {
    apiKey: owner.apiKey,
    path: { workspaceId, channelId: await channel(stage) },
    body: { attachments: [uploaded.body.data._id] },
  })
  if (sent.status !== 201) throw new Error(`an attachment for a fixture: ${sent.text}`)
  return uploaded.body.data._id
}

async function message(
  stage: Stage,
  author: SeededUser = stage.owner,
): Promise<{ channelId: string; messageId: string }> {
  const channelId = await channel(stage)
  const { app, workspaceId } = stage
  const sent = await app.send('POST /api/team/{workspaceId}/channels/{channelId}/messages', {
    apiKey: author.apiKey,
    path: { workspaceId, channelId },
    body: { body: 'Something to look at' },
  })
  if (sent.status !== 201) throw new Error(`a message for a fixture: ${sent.text}`)
  return { channelId, messageId: sent.body.data._id }
}

/** Creates a member without scopes, because callers cannot change members with more scopes than their own. */
async function member({ app, workspaceId }: Stage): Promise<string> {
  const user = await seedUser(app, newName('person'))
  await seedMember(app, workspaceId, user, { scopes: [] })
  return user.id
}

async function invitation(stage: Stage, email = newAddress()): Promise<{ id: string; token: string }> {
  const body = { email, roleId: await emptyRole(stage) }
  const id = await make(stage, 'POST /api/team/{workspaceId}/invitations', body)
  return { id, token: await invitationToken(stage.app, email) }
}

/** Answers an invitation by the token of its mail, or by its id in the invitee's list. */
async function answerInvitation(stage: Stage, by: 'token' | 'id'): Promise<Prepared> {
  const { apiKey, email } = await seedUser(stage.app, newName('person'))
  return { as: { apiKey }, path: { token: (await invitation(stage, email))[by] } }
}
