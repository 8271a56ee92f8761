import { randomBytes } from 'node:crypto'
import type { Fake, FakeOptions, SandboxPost } from '../fake.ts'
import { inputOf } from './files.ts'
import {
  deleteMessage,
  editMessageCaption,
  editMessageText,
  pinChatMessage,
  sendFile,
  sendMediaGroup,
  sendMessage,
  sendPoll,
  type FakeCall,
} from './messages.ts'
import { ALL_PERMISSIONS, chatView, findChat, Refusal, result, type FakeChat, type FakeState } from './state.ts'

/** By the names of methods in lower case: Telegram ignores the case. */
const METHODS: Readonly<Record<string, (call: FakeCall) => unknown>> = {
  getme: ({ bot: { id, username } }) => ({
    id,
    is_bot: true,
    first_name: username,
    username,
    can_join_groups: true,
    can_read_all_group_messages: false,
    supports_inline_queries: false,
  }),
  getchat: getChat,
  getchatmember: getChatMember,
  sendmessage: sendMessage,
  sendphoto: (call) => sendFile(call, 'photo'),
  sendvideo: (call) => sendFile(call, 'video'),
  sendanimation: (call) => sendFile(call, 'animation'),
  senddocument: (call) => sendFile(call, 'document'),
  sendmediagroup: sendMediaGroup,
  sendpoll: sendPoll,
  editmessagetext: editMessageText,
  editmessagecaption: editMessageCaption,
  deletemessage: deleteMessage,
  pinchatmessage: pinChatMessage,
}

/**
 * The Bot API of Telegram: bots, chats with the rights of bots, messages with files, albums, replies, topics and markup
 * (core.telegram.org/bots/api, 2026-11).
 */
export function telegramFake({ clock, state }: FakeOptions<FakeState>): Fake<FakeState> {
  const kept: FakeState = state ?? { bots: {}, chats: [], messages: [], files: {}, next: 1_000 }

  /** A bot that is an administrator of a channel, and a member of a group. */
  const newAccount = () => {
    const id = (kept.next += 1) + 7_000_000_000
    const token = `${id}:${randomBytes(26).toString('base64url').slice(0, 35)}`
    kept.bots[token] = { id, username: `sandbox_${id}_bot` }
    const chat: FakeChat = {
      id: -1_000_000_000_000 - id,
      type: 'channel',
      title: `Sandbox channel ${id % 10_000}`,
      username: `sandbox_channel_${id}`,
      topics: [],
      permissions: {},
      members: { [id]: { status: 'administrator', rights: { can_post_messages: true, can_edit_messages: true } } },
      migratedTo: null,
    }
    const group: FakeChat = {
      ...chat,
      id: chat.id - 1_000_000_000,
      type: 'supergroup',
      title: `Sandbox group ${id % 10_000}`,
      username: `sandbox_group_${id}`,
      permissions: { ...ALL_PERMISSIONS },
      members: { [id]: { status: 'member', rights: {} } },
    }
    kept.chats.push(chat, group)
    return { accessToken: token, chat: String(chat.id) }
  }

  return {
    state: kept,
    handle: (request) => {
      const [, token = '', method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.path) ?? []
      const bot = kept.bots[token]
      try {
        if (!/^\d+:[\w-]+$/.test(token)) throw new Refusal(404, 'Not Found')
        if (bot === undefined) throw new Refusal(401, 'Unauthorized')
        const run = METHODS[method.toLowerCase()]
        if (run === undefined) throw new Refusal(404, 'Not Found: method not found')
        return result(run({ state: kept, clock, bot, ...inputOf(request) }))
      } catch (error) {
        if (error instanceof Refusal) return error.reply
        throw error
      }
    },
    newAccount,
    posts: () => postsOf(kept),
  }
}

function getChat({ params, state }: FakeCall) {
  const chat = currentChat(findChat(state.chats, params['chat_id']), state)
  return {
    ...chatView(chat),
    ...(chat.topics.length > 0 && { is_forum: true }),
    ...(chat.type !== 'channel' && { permissions: chat.permissions }),
    accent_color_id: 0,
    max_reaction_count: 11,
    accepted_gift_types: {},
  }
}

/** The supergroup that a group has become. */
function currentChat(chat: FakeChat, { chats }: FakeState): FakeChat {
  return chat.migratedTo === null ? chat : findChat(chats, chat.migratedTo)
}

function getChatMember({ bot, params, state }: FakeCall) {
  const chat = findChat(state.chats, params['chat_id'])
  const user = { id: bot.id, is_bot: true, first_name: bot.username, username: bot.username }
  const member = chat.members[String(params['user_id'])]
  if (member === undefined) return { user, status: 'left' }
  return { user, status: member.status, ...member.rights }
}

/** One post per message, and one for all messages of an album. */
function postsOf({ chats, messages }: FakeState): SandboxPost[] {
  return messages.flatMap(({ album, chat, date, id, replyTo }) => {
    const together = album === null ? [] : messages.filter((one) => one.album === album)
    if (together.length > 0 && together[0]?.id !== id) return []
    const all = together.length > 0 ? together : messages.filter((one) => one.id === id)
    return [
      {
        id: String(id),
        account: chats.find((one) => one.id === chat)?.title ?? String(chat),
        text: all.map((one) => one.text).find((text) => text !== '') ?? '',
        media: all.flatMap(({ file }) => (file === null ? [] : [file.type])),
        replyTo: replyTo === null ? null : String(replyTo),
        publishedAt: new Date(date).toISOString(),
      },
    ]
  })
}
