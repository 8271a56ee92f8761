import { Type } from 'typebox'
import { kindOfStatus, type ReplyReader } from '../http/platform-http.ts'
import { platform, type AccountContext, type PlatformContext, type Profile } from '../platform.ts'
import { PlatformError } from '../error-kinds.ts'
import { rules } from './rules.ts'

const TITLE = 'Telegram'

interface Answer<T> {
  readonly ok: boolean
  readonly result?: T
  readonly error_code?: number
  readonly description?: string
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number }
}

interface Chat {
  readonly id: number
  readonly type: 'private' | 'group' | 'supergroup' | 'channel'
  readonly title?: string
  readonly username?: string
}

interface Member {
  readonly status: 'creator' | 'administrator' | 'member' | 'restricted' | 'left' | 'kicked'
  readonly can_post_messages?: boolean
  readonly can_send_messages?: boolean
}

/** Errors of the Bot API: `{ ok: false, error_code, description, parameters }` (core.telegram.org/bots/api, 2026-11). */
const reader: ReplyReader = {
  errorOf: ({ json, status }) => {
    const { description, error_code: code = status, ok, parameters } = (json ?? {}) as Partial<Answer<unknown>>
    if (status < 400 && ok !== false) return undefined
    return {
      kind: kindOf(code, description ?? ''),
      code: String(code),
      detail: description,
      retryAfter: parameters?.retry_after,
    }
  },
}

function kindOf(code: number, description: string) {
  if (code === 401 || (code === 404 && description === 'Not Found')) return 'auth_expired'
  if (/not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|need administrator rights/i.test(description)) {
    return 'scope_missing'
  }
  if (/bot was (?:kicked|blocked)|chat not found|bot is not a member|user is deactivated/i.test(description)) {
    return 'account_restricted'
  }
  if (
    /wrong file|failed to get HTTP URL content|IMAGE_PROCESS_FAILED|PHOTO_INVALID|wrong type of the web page/i.test(
      description,
    )
  ) {
    return 'media_processing'
  }
  return kindOfStatus(code)
}

const Fields = Type.Object({
  botToken: Type.String({
    description: 'The token that @BotFather shows for the bot.',
    pattern: String.raw`^\d{5,16}:[\w-]{30,64}$`,
    writeOnly: true,
  }),
  chat: Type.String({
    description: 'Where the bot publishes: @name of a public channel or group, or the number of a chat.',
    pattern: String.raw`^(@\w{4,64}|-?\d{3,20})$`,
  }),
})

async function call<T>(context: PlatformContext, token: string, method: string, params: object = {}): Promise<T> {
  const { json } = await context.http.send({
    method: 'POST',
    url: `${context.settings.apiUrl}/bot${token}/${method}`,
    json: params,
    secrets: [token],
    signal: context.signal,
  })
  return (json as Answer<T>).result as T
}

/** Telegram: a bot that publishes to one channel or group. A chat is an account. */
export const telegram = platform({
  key: 'telegram',
  title: TITLE,
  defaults: { apiUrl: 'https://api.telegram.org', authUrl: 'https://t.me' },
  fake: async () => (await import('./fake.ts')).telegramFake,
  credentials: {
    fields: Fields,
    help: 'Create a bot with @BotFather, add it to the channel as an administrator that may post, and enter its token.',
    connect: async (context, { botToken, chat }) => {
      const profile = await profileOf(context, botToken, chat)
      return { profile, credential: { accessToken: botToken, chat: profile.remoteId }, scopes: null }
    },
  },
  rules,
  reader,
  profile: (context: AccountContext) =>
    profileOf(context, context.credential.accessToken ?? '', String(context.credential['chat'])),
})

/**
 * The chat, after a check that the bot may publish there.
 * @throws PlatformError scope_missing when it may not
 */
async function profileOf(context: PlatformContext, token: string, chatId: string): Promise<Profile> {
  const bot = await call<{ id: number; username: string }>(context, token, 'getMe')
  const chat = await call<Chat>(context, token, 'getChat', { chat_id: chatId })
  const member = await call<Member>(context, token, 'getChatMember', { chat_id: chat.id, user_id: bot.id })
  const missing = missingRight(chat, member)
  if (missing !== undefined) {
    throw new PlatformError('scope_missing', TITLE, { code: 'bot_rights', detail: `@${bot.username} ${missing}.` })
  }
  return {
    remoteId: String(chat.id),
    name: chat.title ?? `@${bot.username}`,
    handle: chat.username ?? null,
    avatarUrl: null,
    url: chat.username === undefined ? null : `https://t.me/${chat.username}`,
    kind: chat.type === 'supergroup' ? 'group' : chat.type,
  }
}

function missingRight(chat: Chat, member: Member): string | undefined {
  if (member.status === 'left' || member.status === 'kicked') return 'is not a member of this chat'
  if (member.status === 'creator') return undefined
  if (chat.type === 'channel') {
    if (member.status !== 'administrator') return 'is not an administrator of this channel'
    return member.can_post_messages === true ? undefined : 'may not post messages in this channel'
  }
  return member.status === 'restricted' && member.can_send_messages !== true ? 'may not send messages here' : undefined
}
