import { createHash } from 'node:crypto'
import { textWithLink } from '../content.ts'
import { PlatformError } from '../error-kinds.ts'
import { isSameText } from '../fingerprint.ts'
import { multipart } from '../http/multipart.ts'
import type { AccountContext } from '../platform.ts'
import { pollMinutes, pollOf, type Poll } from '../polls.ts'
import type { PublishContext, Publishing, PublishPart, PublishState, Reconciled, RemotePost } from '../publishing.ts'
import { call, TITLE, webhookOf } from './call.ts'
import { embedRefusals, embedsOf } from './embeds.ts'
import { placeOf } from './rights.ts'
import { NO_FORUM, threadIn, threadOf, threadRefusals } from './threads.ts'

/** A message and its files go in one call. */
interface State extends PublishState {
  readonly step: 'send'
  /** Discord uses it to recognize a repeated call for some minutes. */
  readonly nonce: string
}

interface Message {
  readonly id: string
  readonly channel_id: string
  readonly content: string
  readonly timestamp: string
  readonly author: { readonly id: string }
  readonly attachments: readonly unknown[]
  readonly embeds: readonly unknown[]
  readonly message_reference?: { readonly message_id?: string }
  readonly reactions?: readonly { readonly count: number }[]
}

const UPLOAD_TIMEOUT_MS = 300_000
const LISTED = 50
const SUPPRESS_EMBEDS = 4
/** Clock tolerance in milliseconds: Discord's time of a call can be this much earlier than ours. */
const CLOCK_SKEW_MS = 120_000

/** Publishing to Discord (docs.discord.com/developers/resources/message and /webhook, 2026-11). */
export const publishing: Publishing = {
  // A bot's nonce is known for minutes only, and webhooks have none. So the channel is searched first.
  repeatable: false,
  start: ({ key, options, role }, { credential }): State => {
    if (role !== 'post' && webhookOf(credential) !== undefined) {
      throw new PlatformError('unsupported', TITLE, {
        code: 'webhook_reply',
        detail: 'A webhook cannot reply to a message. Connect a bot for threads and first comments.',
        mayHaveHappened: false,
      })
    }
    if (options['thread_name'] !== undefined && webhookOf(credential) === undefined) throw refused('forum', NO_FORUM)
    const [embeds] = embedRefusals({ options })
    if (embeds !== undefined) throw refused('embeds', embeds.message)
    const [thread] = threadRefusals({ options })
    if (thread !== undefined) throw refused('thread', thread.message)
    return { step: 'send', nonce: createHash('sha256').update(key).digest('base64url').slice(0, 25) }
  },
  commits: () => true,
  step: async (context, part, state) => {
    const message = await send(context, part, (state as State).nonce)
    return { kind: 'published', post: remoteOf(context, part, message) }
  },
  reconcile,
  remove: async (context, post) => {
    await callFor(context, post, { method: 'DELETE', expect: [404] })
  },
  edit: async (context, post, part) => {
    if (pollIn(part) !== undefined) {
      // Error 520003 (docs.discord.com, JSON error codes, 2026-11).
      const detail = 'Discord does not change a message with a poll.'
      throw new PlatformError('unsupported', TITLE, { code: 'poll', detail, mayHaveHappened: false })
    }
    await callFor(context, post, { method: 'PATCH', json: { content: part.text } })
    return post
  },
  insights: async (context, post) => {
    const { reactions = [] } = (await callFor(context, post)) as Message
    return { likes: reactions.reduce((sum, { count }) => sum + count, 0) }
  },
}

async function send(context: PublishContext, part: PublishPart, nonce: string): Promise<Message> {
  const { media, options, parent } = part
  const text = textWithLink(part)
  const isWebhook = webhookOf(context.credential) !== undefined
  const embeds = embedsOf(options)
  const poll = pollIn(part)
  const thread = threadIn(options)
  const payload = {
    ...(text !== '' && { content: text }),
    ...(embeds.length > 0 && { embeds }),
    ...(poll && { poll: requestOf(poll) }),
    ...(options['suppress_embeds'] === true && { flags: SUPPRESS_EMBEDS }),
    allowed_mentions: { parse: options['mentions'] ?? ['users', 'roles'] },
    ...(isWebhook
      ? {
          username: options['username'],
          avatar_url: options['avatar_url'],
          thread_name: options['thread_name'],
          applied_tags: options['applied_tags'],
        }
      : { nonce, enforce_nonce: true, ...(parent && { message_reference: { message_id: parent.id } }) }),
    ...(media.length > 0 && {
      attachments: media.map(({ altText, name }, index) => ({
        id: index,
        filename: name,
        ...(altText !== undefined && { description: altText }),
      })),
    }),
  }
  const files = await Promise.all(
    media.map(async ({ bytes, id, name, type }, index) => ({
      field: `files[${index}]`,
      filename: name,
      type,
      body: await context.media.read(id, 0, bytes),
    })),
  )
  return call<Message>(context, messagesPath(context, 'all', thread), {
    method: 'POST',
    // Without it, a webhook replies before the message exists, and without its id.
    ...(isWebhook && { query: { wait: true, thread_id: thread } }),
    ...(files.length > 0 ? multipart({ payload_json: JSON.stringify(payload) }, files) : { json: payload }),
    timeoutMs: UPLOAD_TIMEOUT_MS,
  })
}

/** The poll of a post. Replies have none. */
function pollIn({ options, role }: PublishPart): Poll | undefined {
  return role === 'post' ? pollOf(options) : undefined
}

/** A poll as Discord takes it (docs.discord.com, Poll Create Request Object, 2026-11). */
function requestOf(poll: Poll) {
  return {
    question: { text: poll.question },
    answers: poll.options.map((text) => ({ poll_media: { text } })),
    duration: pollMinutes(poll) / 60,
    allow_multiselect: poll.multiple ?? false,
  }
}

/** Looks through the newest messages of the channel or thread, which only a bot with the right to read them can. */
async function reconcile(context: AccountContext, part: PublishPart): Promise<Reconciled> {
  if (webhookOf(context.credential) !== undefined) {
    return { kind: 'unknown', reason: 'A webhook cannot list the messages of its channel.' }
  }
  const thread = threadIn(part.options)
  const { bot, rights } = await placeOf(context, thread ?? String(context.credential['channel']))
  if (!rights.readMessageHistory) {
    return { kind: 'unknown', reason: 'The bot lacks the permission Read Message History.' }
  }
  const messages = await call<readonly Message[]>(context, messagesPath(context, 'all', thread), {
    query: { limit: LISTED },
  })
  const found = messages.find(
    ({ attachments, author, content, embeds, message_reference: reference, timestamp }) =>
      author.id === bot.id &&
      reference?.message_id === part.parent?.id &&
      attachments.length === part.media.length &&
      embeds.length >= embedsOf(part.options).length &&
      isSameText(part.text, content) &&
      Date.parse(timestamp) >= part.createdAt - CLOCK_SKEW_MS,
  )
  return found === undefined ? { kind: 'absent' } : { kind: 'published', post: remoteOf(context, part, found) }
}

/** Calls the path of one message. A webhook names the thread of the message beside it. */
function callFor(
  context: AccountContext,
  post: RemotePost,
  options: Parameters<typeof call>[2] = {},
): Promise<unknown> {
  const thread = threadOf(post)
  return call(context, `${messagesPath(context, 'one', thread)}/${post.id}`, {
    ...options,
    ...(webhookOf(context.credential) !== undefined && { query: { thread_id: thread } }),
  })
}

/** @param what `one`: the path below which single messages are */
function messagesPath({ credential }: AccountContext, what: 'all' | 'one', thread?: string): string {
  const webhook = webhookOf(credential)
  // A thread is a channel for a bot.
  if (webhook === undefined) return `/channels/${thread ?? String(credential['channel'])}/messages`
  return `/webhooks/${webhook.id}/${webhook.token}${what === 'one' ? '/messages' : ''}`
}

function remoteOf(context: AccountContext, { options }: PublishPart, { channel_id: channel, id }: Message): RemotePost {
  const guild = context.credential['guild']
  // A post in a forum is the first message of a new thread, whose id the reply has.
  const isInThread = options['thread_name'] !== undefined || threadIn(options) !== undefined
  return {
    id,
    url: typeof guild === 'string' ? `https://discord.com/channels/${guild}/${channel}/${id}` : null,
    ...(isInThread && { ids: { thread: channel } }),
  }
}

function refused(code: string, detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { code, detail, mayHaveHappened: false })
}
