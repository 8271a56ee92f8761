import { PlatformError } from '../error-kinds.ts'
import type { AccountContext } from '../platform.ts'
import type { PublishContext, Publishing, PublishPart, PublishState, RemotePost, StepResult } from '../publishing.ts'
import { pollOf } from '../polls.ts'
import { call, TITLE, type Params } from './call.ts'
import { captionedAt, captionOf, sendingOf, textOf } from './messages.ts'
import { commentRefused } from './profile.ts'
import { NOT_FOUND, NOT_MODIFIED } from './replies.ts'

/** A message and its files go in one call. A message that is to be pinned is pinned by a second one. */
interface State extends PublishState {
  readonly step: 'send' | 'pin'
  readonly post?: RemotePost
}

interface Message {
  readonly message_id: number
  readonly chat: { readonly id: number; readonly type: string; readonly username?: string }
}

const TIMEOUT_MS = 300_000
/** How fast an upload must be at least. */
const BYTES_PER_MS = 500

/**
 * Publishing to Telegram (core.telegram.org/bots/api, 2026-11). A bot cannot read the messages of a chat, and nothing
 * marks a repeated call, so a call is made at most once: there is no `reconcile`, and a call whose reply was lost stays
 * unconfirmed until a user has looked.
 */
export const publishing: Publishing = {
  repeatable: false,
  start: (part, { credential }): State => {
    // Only the reply to the first part says what kind of chat it is.
    if (part.role === 'comment' && part.root?.ids?.['chatType'] === 'channel') throw commentRefused()
    // Refuses files that cannot be sent together, before anything is sent.
    sendingOf(part, String(credential['chat']))
    return { step: 'send' }
  },
  commits: ({ step }) => step === 'send',
  step: (context, part, state) => {
    const { post, step } = state as State
    return step === 'pin' && post !== undefined ? pin(context, part, post) : send(context, part)
  },
  remove: async (context, post) => {
    for (const id of messagesOf(post)) {
      try {
        await callFor(context, 'deleteMessage', { chat_id: chatOf(context, post), message_id: id })
      } catch (error) {
        if (!isCode(error, NOT_FOUND)) throw error
      }
    }
  },
  edit: async (context, post, part) => {
    if (post.ids?.['poll'] !== undefined) {
      const detail = 'Telegram does not change the question of a poll.'
      throw new PlatformError('unsupported', TITLE, { code: 'poll', detail, mayHaveHappened: false })
    }
    const place = { chat_id: chatOf(context, post), message_id: Number(post.ids?.['text'] ?? post.id) }
    const isCaption = post.ids?.['isCaption'] === 'true'
    const { link_preview_options: preview, show_caption_above_media: above } = part.options
    try {
      await (isCaption
        ? callFor(context, 'editMessageCaption', { ...place, ...captionOf(part), show_caption_above_media: above })
        : callFor(context, 'editMessageText', { ...place, ...textOf(part), link_preview_options: preview }))
    } catch (error) {
      if (!isCode(error, NOT_MODIFIED)) throw error
    }
    return post
  },
}

async function send(context: PublishContext, part: PublishPart): Promise<StepResult> {
  const chat = part.parent?.ids?.['chat'] ?? String(context.credential['chat'])
  const { files, method, params } = sendingOf(part, chat)
  const size = part.media.reduce((sum, { bytes }) => sum + bytes, 0)
  const sent = await call<Message | readonly Message[]>(
    context,
    context.credential.accessToken ?? '',
    method,
    params,
    files === undefined
      ? {}
      : { files: () => files(context.media), timeoutMs: Math.max(TIMEOUT_MS, Math.ceil(size / BYTES_PER_MS)) },
  )
  const post = postOf(part, [sent].flat())
  return part.options['pin'] === true && part.role === 'post'
    ? { kind: 'next', state: { step: 'pin', post } }
    : { kind: 'published', post }
}

/** The message is public already, so a refused pin does not make the publication a failure. */
async function pin(context: PublishContext, part: PublishPart, post: RemotePost): Promise<StepResult> {
  try {
    await callFor(context, 'pinChatMessage', {
      chat_id: chatOf(context, post),
      message_id: Number(post.id),
      disable_notification: part.options['disable_notification'],
    })
    return { kind: 'published', post }
  } catch (error) {
    if (!(error instanceof PlatformError) || error.retry !== 'never') throw error
    const pinRefused = error.detail ?? error.message
    const message = `Telegram did not pin the message: ${pinRefused}`
    const note = { code: 'partly_refused', message, nextStep: 'Pin it at Telegram, if you can.' }
    return { kind: 'published', post: { ...post, ids: { ...post.ids, pinRefused }, note } }
  }
}

function callFor(context: AccountContext, method: string, params: Params): Promise<unknown> {
  return call(context, context.credential.accessToken ?? '', method, params)
}

/** The id is that of the first message. An album has one message per file. */
function postOf({ media, options, role }: PublishPart, messages: readonly Message[]): RemotePost {
  const [first] = messages
  if (first === undefined) throw new Error('Telegram sent no messages')
  const { chat, message_id: id } = first
  return {
    id: String(id),
    url: urlOf(chat, id),
    ids: {
      chat: String(chat.id),
      chatType: chat.type,
      messages: messages.map((message) => message.message_id).join(','),
      ...(media.length > 0 && {
        text: String(messages[captionedAt(media)]?.message_id ?? id),
        isCaption: 'true',
      }),
      ...(role === 'post' && pollOf(options) !== undefined && { poll: 'true' }),
    },
  }
}

/** Messages of public chats have an address for everybody, those of private supergroups and channels for members. */
function urlOf({ id, type, username }: Message['chat'], message: number): string | null {
  if (username !== undefined) return `https://t.me/${username}/${message}`
  const [, internal] = /^-100(\d+)$/.exec(String(id)) ?? []
  return internal === undefined || type === 'group' ? null : `https://t.me/c/${internal}/${message}`
}

function messagesOf({ id, ids }: RemotePost): readonly number[] {
  return (ids?.['messages'] ?? id).split(',').map(Number)
}

/** The chat that the message is in, which for groups can differ from the one that was connected. */
function chatOf({ credential }: AccountContext, { ids }: RemotePost): string {
  return ids?.['chat'] ?? String(credential['chat'])
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof PlatformError && error.code === code
}
