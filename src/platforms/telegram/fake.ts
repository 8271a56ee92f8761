import { randomBytes } from 'node:crypto'
import {
  json,
  type Fake,
  type FakeOptions,
  type FakeReply,
  type FakeRequest,
  type SandboxPost,
} from '../sandbox/fake.ts'

interface Bot {
  readonly id: number
  readonly username: string
}

interface Chat {
  readonly id: number
  readonly type: 'channel' | 'supergroup'
  readonly title: string
  readonly username: string
  /** Rights by the id of a bot; a bot that is missing is not a member. */
  readonly rights: Record<string, 'admin' | 'member' | 'reader'>
}

interface Message {
  readonly id: number
  readonly chat: number
  readonly text: string
  readonly replyTo: number | null
  readonly date: number
}

interface State {
  readonly bots: Record<string, Bot>
  readonly chats: Chat[]
  readonly messages: Message[]
  next: number
}

/** Seconds and messages of the limit for one chat (core.telegram.org/bots/faq, 2026-11: 20 a minute). */
const CHAT_WINDOW_MS = 60_000
const CHAT_MESSAGES = 20

/** The Bot API of Telegram. State: bots, chats with the rights of bots, messages (core.telegram.org/bots/api, 2026-11). */
export function telegramFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? { bots: {}, chats: [], messages: [], next: 1_000 }

  const newAccount = () => {
    const id = (kept.next += 1) + 7_000_000_000
    const token = `${id}:${randomBytes(26).toString('base64url').slice(0, 35)}`
    kept.bots[token] = { id, username: `sandbox_${id}_bot` }
    const chat: Chat = {
      id: -1_000_000_000_000 - id,
      type: 'channel',
      title: `Sandbox channel ${id % 10_000}`,
      username: `sandbox_channel_${id}`,
      rights: { [id]: 'admin' },
    }
    kept.chats.push(chat)
    return { accessToken: token, chat: String(chat.id) }
  }

  const methods: Record<string, (bot: Bot, body: FakeRequest['body']) => FakeReply> = {
    getMe: ({ id, username }) => result({ id, is_bot: true, first_name: username, username }),
    getChat: (_bot, body) => {
      const chat = findChat(kept, body['chat_id'])
      if (chat === undefined) return failure(400, 'Bad Request: chat not found')
      const { id, title, type, username } = chat
      return result({ id, type, title, username })
    },
    getChatMember: (bot, body) => {
      const chat = findChat(kept, body['chat_id'])
      if (chat === undefined) return failure(400, 'Bad Request: chat not found')
      const right = chat.rights[String(body['user_id'])]
      const user = { id: bot.id, is_bot: true, first_name: bot.username, username: bot.username }
      if (right === undefined) return result({ user, status: 'left' })
      if (right === 'admin') return result({ user, status: 'administrator', can_post_messages: true })
      if (chat.type === 'channel' || right === 'reader') {
        return result({ user, status: 'restricted', can_send_messages: false })
      }
      return result({ user, status: 'member' })
    },
    sendMessage: (bot, body) => {
      const chat = findChat(kept, body['chat_id'])
      if (chat === undefined) return failure(400, 'Bad Request: chat not found')
      const right = chat.rights[bot.id]
      if (right === undefined) return failure(403, `Forbidden: bot is not a member of the ${chat.type} chat`)
      if (right !== 'admin' && (chat.type === 'channel' || right === 'reader')) {
        return failure(400, 'Bad Request: not enough rights to send text messages to the chat')
      }
      const text = typeof body['text'] === 'string' ? body['text'].trim() : ''
      if (text === '') return failure(400, 'Bad Request: message text is empty')
      if (text.length > 4_096) return failure(400, 'Bad Request: message is too long')
      const now = clock.now()
      const recent = kept.messages.filter(({ chat: to, date }) => to === chat.id && now - date < CHAT_WINDOW_MS)
      if (recent.length >= CHAT_MESSAGES) {
        const wait = Math.ceil((CHAT_WINDOW_MS - (now - (recent[0]?.date ?? now))) / 1_000)
        return failure(429, `Too Many Requests: retry after ${wait}`, { retry_after: wait })
      }
      const reply = (body['reply_parameters'] as { message_id?: number } | undefined)?.message_id
      const message = { id: (kept.next += 1), chat: chat.id, text, replyTo: reply ?? null, date: now }
      kept.messages.push(message)
      const { id, title, type, username } = chat
      return result({
        message_id: message.id,
        date: Math.floor(now / 1_000),
        chat: { id, title, type, username },
        text,
      })
    },
  }

  return {
    state: kept,
    handle: ({ body, path, query }) => {
      const [, token = '', method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
      const bot = kept.bots[token]
      if (bot === undefined) return failure(401, 'Unauthorized')
      const run = methods[method]
      if (run === undefined) return failure(404, 'Not Found: method not found')
      return run(bot, { ...Object.fromEntries(query), ...body })
    },
    newAccount,
    posts: () =>
      kept.messages.map(({ chat, date, id, replyTo, text }): SandboxPost => ({
        id: String(id),
        account: kept.chats.find((one) => one.id === chat)?.title ?? String(chat),
        text,
        media: [],
        replyTo: replyTo === null ? null : String(replyTo),
        publishedAt: new Date(date).toISOString(),
      })),
  }
}

function findChat({ chats }: State, id: unknown): Chat | undefined {
  const text = String(id)
  return chats.find((chat) => String(chat.id) === text || `@${chat.username}`.toLowerCase() === text.toLowerCase())
}

function result(value: unknown): FakeReply {
  return json(200, { ok: true, result: value })
}

function failure(code: number, description: string, parameters?: object): FakeReply {
  const headers = code === 429 ? { 'Retry-After': String((parameters as { retry_after: number }).retry_after) } : {}
  return json(code, { ok: false, error_code: code, description, ...(parameters && { parameters }) }, headers)
}
