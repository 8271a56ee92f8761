import { PIXEL } from '../../../../test/support/pixel.ts'
import type { SeededUser } from '../../../../test/support/seed.ts'
import { make, member, newName, times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
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
  unreactToMessage: async (stage) => ({ path: await message(stage) }),
  downloadChatAttachment: async (stage) => ({ path: { attachmentId: await attachment(stage) } }),
}

export const lists: Lists<typeof operations> = {
  listChannels: times(channel),
  listMessages: async (stage, many) => ({ path: { channelId: await messages(stage, many) } }),
  searchMessages: async (stage, many) => {
    await messages(stage, many)
    return { query: { q: 'something' } }
  },
}

function channel(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/team/{workspaceId}/channels', { kind: 'channel', name: newName('channel') })
}

/** Creates a private channel with the caller as a member. */
function privateChannel(stage: Stage): Promise<string> {
  const body = { kind: 'channel', name: newName('channel'), private: true, memberIds: [stage.caller.id] }
  return make(stage, 'POST /api/team/{workspaceId}/channels', body)
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
