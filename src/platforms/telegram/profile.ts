import { Type, type Static } from 'typebox'
import { PlatformError } from '../error-kinds.ts'
import type { AccountContext, Credential, Grant, LiveCapabilities, PlatformContext, Profile } from '../platform.ts'
import { call, TITLE } from './call.ts'
import { rightsOf, type Chat, type Member, type Rights } from './rights.ts'

export const Fields = Type.Object({
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

const OFFICIAL = 'https://api.telegram.org'
/** core.telegram.org/bots/api#using-a-local-bot-api-server, 2026-11. */
const OWN_SERVER_BYTES = 2_000_000_000
const NO_CHANNEL_COMMENTS =
  'Bots cannot comment on posts of a channel. Write a thread instead: its parts become replies in the channel.'

/** The bot and its chat. */
interface Place {
  readonly bot: { readonly id: number; readonly username: string }
  readonly chat: Chat
  readonly rights: Rights
}

/** Checks a bot and a chat live. A chat is an account, because a bot cannot list its chats. @throws PlatformError */
export async function connect(context: PlatformContext, { botToken, chat }: Static<typeof Fields>): Promise<Grant> {
  const place = await placeOf(context, { accessToken: botToken, chat })
  const { bot, rights } = place
  if (rights.missing !== undefined) {
    throw new PlatformError('scope_missing', TITLE, {
      code: 'bot_rights',
      detail: `@${bot.username} ${rights.missing}.`,
      mayHaveHappened: false,
    })
  }
  const profile = profileOf(place)
  return { profile, credential: { accessToken: botToken, chat: profile.remoteId }, scopes: null }
}

/** The chat of an account. @throws PlatformError */
export async function profile(context: AccountContext): Promise<Profile> {
  const found = profileOf(await placeOf(context, context.credential))
  // The id of a group changes when it becomes a supergroup. It stays the same account.
  return { ...found, remoteId: context.remoteId === '' ? found.remoteId : context.remoteId }
}

/** What the bot may do in its chat. @throws PlatformError */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const { bot, chat, rights } = await placeOf(context, context.credential)
  const isChannel = chat.type === 'channel'
  const { apiUrl, sandboxUrl } = context.settings
  const isOwnServer = sandboxUrl === undefined && apiUrl !== OFFICIAL
  return {
    limits: {
      ...(isChannel && { 'comment.max': 0 }),
      ...(isOwnServer && {
        'gif.maxBytes': OWN_SERVER_BYTES,
        'video.maxBytes': OWN_SERVER_BYTES,
        'document.maxBytes': OWN_SERVER_BYTES,
      }),
    },
    blocked: {
      ...(rights.missing !== undefined && { publish: `@${bot.username} ${rights.missing}.` }),
      ...Object.fromEntries(
        rights.forbidden.map(([what, noun]) => [what, `@${bot.username} may not send ${noun} to this chat.`]),
      ),
      ...(isChannel && { comment: NO_CHANNEL_COMMENTS }),
    },
    details: {
      bot: bot.username,
      chat: { type: chat.type, title: chat.title ?? null, hasTopics: chat.is_forum === true },
      rights: { pin: rights.canPin, delete: rights.canDelete },
      slowModeSeconds: chat.slow_mode_delay ?? 0,
    },
  }
}

/** The reason why there are no first comments, for calls that ask for one. */
export function commentRefused(): PlatformError {
  return new PlatformError('unsupported', TITLE, {
    code: 'channel_comment',
    detail: NO_CHANNEL_COMMENTS,
    mayHaveHappened: false,
  })
}

async function placeOf(context: PlatformContext, credential: Credential): Promise<Place> {
  const token = credential.accessToken ?? ''
  const bot = await call<Place['bot']>(context, token, 'getMe')
  const chat = await call<Chat>(context, token, 'getChat', { chat_id: String(credential['chat']) })
  const member = await call<Member>(context, token, 'getChatMember', { chat_id: chat.id, user_id: bot.id })
  return { bot, chat, rights: rightsOf(chat, member) }
}

function profileOf({ bot, chat }: Place): Profile {
  return {
    remoteId: String(chat.id),
    name: chat.title ?? `@${bot.username}`,
    handle: chat.username ?? null,
    avatarUrl: null,
    url: chat.username === undefined ? null : `https://t.me/${chat.username}`,
    kind: chat.type === 'supergroup' ? 'group' : chat.type,
  }
}
