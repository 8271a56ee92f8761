import type { Clock } from '../../src/core/clock.ts'
import type { ReceivedPart } from '../multipart.ts'
import { readMarkup, type FakeEntity, type Marked } from './entities.ts'
import { fileOf, fileView } from './files.ts'
import { pollIn, pollView, type FakePoll } from './polls.ts'
import {
  chatOf,
  chatView,
  findChat,
  isTrue,
  objectOf,
  plainOf,
  Refusal,
  type FakeBot,
  type FakeChat,
  type FakeFile,
  type FakeMember,
  type FakeMessage,
  type FakeState,
} from './state.ts'

/** One call of a method. */
export interface FakeCall {
  readonly state: FakeState
  readonly clock: Clock
  readonly bot: FakeBot
  readonly params: Readonly<Record<string, unknown>>
  readonly uploads: readonly ReceivedPart[]
}

interface Draft extends Marked {
  readonly file: FakeFile | null
  readonly poll?: FakePoll
}

/** core.telegram.org/bots/api#replyparameters, 2026-11. */
interface Reply {
  readonly message_id?: number
  readonly chat_id?: number | string
  readonly allow_sending_without_reply?: boolean
}

const TEXT = 4_096
const CAPTION = 1_024
const ALBUM = 10
/** core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this, 2026-11. */
const GROUP_WINDOW_MS = 60_000
const GROUP_MESSAGES = 20
const BOT_WINDOW_MS = 1_000
const BOT_MESSAGES = 30
const DELETE_MS = 48 * 3_600_000

const RIGHTS = {
  text: ['can_send_messages', 'text messages'],
  photo: ['can_send_photos', 'photos'],
  video: ['can_send_videos', 'videos'],
  animation: ['can_send_other_messages', 'animations'],
  document: ['can_send_documents', 'documents'],
  poll: ['can_send_polls', 'polls'],
} as const

export function sendMessage(call: FakeCall) {
  return messageView(call, send(call, [{ ...textOf(call, call.params['text']), file: null }])[0])
}

export function sendPoll(call: FakeCall) {
  placeOf(call, 'poll')
  const poll = pollIn(call.params, String((call.state.next += 1)))
  return messageView(call, send(call, [{ text: poll.question, entities: [], file: null, poll }])[0])
}

/** sendPhoto, sendVideo, sendAnimation and sendDocument. */
export function sendFile(call: FakeCall, field: FakeFile['field']) {
  const { params, state, uploads } = call
  placeOf(call)
  const missing = `Bad Request: there is no ${field} in the request`
  const found = fileOf(state, uploads, { field, value: params[field], missing })
  const stated = (name: string, known: number) => Number(params[name] ?? 0) || known
  const moves = field === 'video' || field === 'animation'
  const file: FakeFile = moves
    ? {
        ...found,
        width: stated('width', found.width),
        height: stated('height', found.height),
        seconds: stated('duration', found.seconds),
      }
    : found
  return messageView(call, send(call, [{ ...captionOf(params), file }])[0])
}

export function sendMediaGroup(call: FakeCall) {
  const { params, state, uploads } = call
  placeOf(call)
  const items = objectOf(params['media']) as readonly Readonly<Record<string, unknown>>[] | undefined
  if (items === undefined) throw new Refusal(400, 'Bad Request: parameter "media" is required')
  if (items.length === 0) throw new Refusal(400, 'Bad Request: there are no messages to send')
  if (items.length > ALBUM) throw new Refusal(400, 'Bad Request: too many messages to send as an album')
  const types = items.map(({ type }) => String(type))
  const wrong = types.find((type) => !['photo', 'video', 'document'].includes(type))
  if (wrong !== undefined) {
    const why = `type "${wrong}" can't be used in sendMediaGroup`
    throw new Refusal(400, `Bad Request: can't parse InputMedia: ${why}`)
  }
  if (types.includes('document') && types.some((type) => type !== 'document')) {
    throw new Refusal(400, "Bad Request: document can't be mixed with other media types")
  }
  const missing = "Bad Request: can't parse InputMedia: media not found"
  const drafts = items.map((item) => {
    const { media, type } = item
    if (media === undefined || media === '') throw new Refusal(400, missing)
    const file = fileOf(state, uploads, { field: type as FakeFile['field'], value: media, missing })
    return { ...captionOf(item), file }
  })
  return send(call, drafts).map((message) => messageView(call, message))
}

export function editMessageText(call: FakeCall) {
  const message = ownMessage(call)
  if (message.file !== null || message.poll) {
    throw new Refusal(400, 'Bad Request: there is no text in the message to edit')
  }
  return edited(call, message, textOf(call, call.params['text']))
}

export function editMessageCaption(call: FakeCall) {
  const message = ownMessage(call)
  if (message.file === null) throw new Refusal(400, 'Bad Request: there is no caption in the message to edit')
  return edited(call, message, captionOf(call.params))
}

export function deleteMessage(call: FakeCall) {
  const { bot, clock, params, state } = call
  const { chat, member } = chatOf(state, bot, params['chat_id'])
  const message = state.messages.find(({ chat: to, id }) => to === chat.id && id === Number(params['message_id']))
  if (message === undefined) throw new Refusal(400, 'Bad Request: message to delete not found')
  const mayDelete = message.bot === bot.id || member.rights['can_delete_messages'] === true
  if (!mayDelete) throw new Refusal(400, "Bad Request: message can't be deleted")
  if (clock.now() - message.date >= DELETE_MS) {
    throw new Refusal(400, "Bad Request: message can't be deleted for everyone")
  }
  state.messages = state.messages.filter((one) => one !== message)
  return true
}

export function pinChatMessage({ bot, params, state }: FakeCall) {
  const { chat, member } = chatOf(state, bot, params['chat_id'])
  const right = chat.type === 'channel' ? 'can_edit_messages' : 'can_pin_messages'
  if (member.status !== 'administrator' || member.rights[right] !== true) {
    throw new Refusal(400, 'Bad Request: not enough rights to manage pinned messages in the chat')
  }
  const message = state.messages.find(({ chat: to, id }) => to === chat.id && id === Number(params['message_id']))
  if (message === undefined) throw new Refusal(400, 'Bad Request: message to pin not found')
  message.isPinned = true
  return true
}

/** The chat that the bot sends to, after a check of its rights for a kind of message. */
function placeOf({ bot, params, state }: FakeCall, kind: keyof typeof RIGHTS = 'text'): FakeChat {
  const { chat, member } = chatOf(state, bot, params['chat_id'])
  const [right, noun] = RIGHTS[kind]
  if (!mayDo(chat, member, right)) {
    throw new Refusal(400, `Bad Request: not enough rights to send ${noun} to the chat`)
  }
  return chat
}

function mayDo(chat: FakeChat, { rights, status }: FakeMember, right: string): boolean {
  if (chat.type === 'channel') return status === 'administrator' && rights['can_post_messages'] === true
  if (status === 'administrator') return true
  return (status === 'restricted' ? rights : chat.permissions)[right] === true
}

/** Makes the messages of a call, all or none. */
function send(call: FakeCall, drafts: readonly Draft[]): FakeMessage[] {
  const { bot, clock, params, state } = call
  const places = drafts.map(({ file, poll }) => placeOf(call, poll === undefined ? file?.field : 'poll'))
  const chat = places[0] ?? placeOf(call)
  const topic = topicOf(chat, params['message_thread_id'])
  const replyTo = replyOf(call, chat)
  requireRate(call, chat, drafts.length)
  const album = drafts.length > 1 ? String((state.next += 1)) : null
  const messages = drafts.map(({ entities, file, poll, text }) => ({
    id: (state.next += 1),
    chat: chat.id,
    bot: bot.id,
    text,
    entities,
    file,
    poll: poll ?? null,
    album,
    replyTo,
    topic,
    date: clock.now(),
    isSilent: isTrue(params['disable_notification']),
    isProtected: isTrue(params['protect_content']),
    preview: objectOf(params['link_preview_options']) ?? null,
    isPinned: false,
  }))
  state.messages.push(...messages)
  return messages
}

function topicOf({ topics }: FakeChat, value: unknown): number | null {
  if (value === undefined || value === '') return null
  if (!topics.includes(Number(value))) throw new Refusal(400, 'Bad Request: message thread not found')
  return Number(value)
}

function replyOf({ params, state }: FakeCall, chat: FakeChat): number | null {
  const reply = objectOf(params['reply_parameters']) as Reply | undefined
  if (reply === undefined) return null
  const from = reply.chat_id === undefined ? chat : findChat(state.chats, reply.chat_id)
  const found = state.messages.some(({ chat: to, id }) => to === from.id && id === reply.message_id)
  if (found) return reply.message_id ?? null
  if (reply.allow_sending_without_reply === true) return null
  throw new Refusal(400, 'Bad Request: message to be replied not found')
}

/** Groups take 20 messages a minute of a bot, and a bot sends 30 a second. */
function requireRate({ bot, clock, state }: FakeCall, chat: FakeChat, added: number): void {
  const limits = [
    ...(chat.type === 'channel'
      ? []
      : [{ most: GROUP_MESSAGES, ms: GROUP_WINDOW_MS, of: (one: FakeMessage) => one.chat === chat.id }]),
    { most: BOT_MESSAGES, ms: BOT_WINDOW_MS, of: (one: FakeMessage) => one.bot === bot.id },
  ]
  const now = clock.now()
  for (const { most, ms, of } of limits) {
    const recent = state.messages.filter((one) => of(one) && now - one.date < ms)
    if (recent.length + added <= most) continue
    const wait = Math.max(1, Math.ceil((ms - (now - (recent[0]?.date ?? now))) / 1_000))
    throw new Refusal(429, `Too Many Requests: retry after ${wait}`, { retry_after: wait })
  }
}

/** Telegram counts code points, without markup and without white space at the ends. */
function textOf({ params }: FakeCall, value: unknown): Marked {
  const marked = readMarkup(plainOf(value), params['parse_mode'])
  if (marked.text === '') throw new Refusal(400, 'Bad Request: message text is empty')
  if (Array.from(marked.text).length > TEXT) throw new Refusal(400, 'Bad Request: message is too long')
  return { ...marked, entities: givenOr(params['entities'], marked) }
}

function captionOf(params: Readonly<Record<string, unknown>>): Marked {
  const { caption, caption_entities: given, parse_mode: mode } = params
  const marked = readMarkup(plainOf(caption), mode)
  if (marked.text.length > CAPTION) throw new Refusal(400, 'Bad Request: message caption is too long')
  return { ...marked, entities: givenOr(given, marked) }
}

/** Clients can list the entities themselves, in place of markup. */
function givenOr(given: unknown, { entities }: Marked): readonly FakeEntity[] {
  return entities.length > 0 ? entities : ((objectOf(given) as readonly FakeEntity[] | undefined) ?? [])
}

function ownMessage({ bot, params, state }: FakeCall): FakeMessage {
  const { chat } = chatOf(state, bot, params['chat_id'])
  const message = state.messages.find(({ chat: to, id }) => to === chat.id && id === Number(params['message_id']))
  if (message === undefined) throw new Refusal(400, 'Bad Request: message to edit not found')
  if (message.bot !== bot.id) throw new Refusal(400, "Bad Request: message can't be edited")
  return message
}

function edited(call: FakeCall, message: FakeMessage, { entities, text }: Marked) {
  if (text === message.text && JSON.stringify(entities) === JSON.stringify(message.entities ?? [])) {
    const why = 'specified new message content and reply markup are exactly the same as a current content'
    throw new Refusal(400, `Bad Request: message is not modified: ${why} and reply markup of the message`)
  }
  message.text = text
  message.entities = entities
  return { ...messageView(call, message), edit_date: Math.floor(call.clock.now() / 1_000) }
}

/** A message as the API shows it (core.telegram.org/bots/api#message, 2026-11). */
function messageView({ bot, clock, state }: FakeCall, message: FakeMessage | undefined) {
  if (message === undefined) throw new Error('no message was sent')
  const { album, chat: id, date, entities = [], file, isProtected, poll, replyTo, text, topic } = message
  const chat = chatView(findChat(state.chats, id))
  const sender =
    chat.type === 'channel'
      ? { sender_chat: chat }
      : { from: { id: bot.id, is_bot: true, first_name: bot.username, username: bot.username } }
  const replied = state.messages.find((one) => one.chat === id && one.id === replyTo)
  return {
    message_id: message.id,
    ...sender,
    chat,
    date: Math.floor(date / 1_000),
    ...(poll
      ? { poll: pollView(poll, date, clock.now()) }
      : file === null
        ? { text, ...(entities.length > 0 && { entities }) }
        : {
            ...fileView(file),
            ...(text !== '' && { caption: text }),
            ...(entities.length > 0 && { caption_entities: entities }),
          }),
    ...(album !== null && { media_group_id: album }),
    ...(topic !== null && { message_thread_id: topic, is_topic_message: true }),
    ...(isProtected && { has_protected_content: true }),
    ...(replied !== undefined && {
      reply_to_message: { message_id: replied.id, chat, date: Math.floor(replied.date / 1_000) },
    }),
  }
}
