import { randomBytes } from 'node:crypto'
import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { limited, type FakeBuckets } from './limits.ts'
import { failure, invalid } from './failures.ts'
import { draftOf, messageView, refusalOf, type Draft, type FakeMessage } from './messages.ts'

interface Bot {
  readonly id: string
  readonly username: string
}

interface Channel {
  readonly id: string
  readonly type: number
  readonly name: string
  readonly guild: string
  /** Permissions that the channel takes from everyone, as bits. */
  deny: string
  /** The channel that a thread is in. */
  readonly parent?: string
  /** The tags that posts in a forum can have, by id. */
  readonly tags?: Readonly<Record<string, string>>
}

interface Guild {
  readonly id: string
  readonly name: string
  readonly bots: readonly string[]
  premiumTier: number
}

interface Webhook {
  readonly id: string
  readonly token: string
  readonly channel: string
  readonly name: string
}

interface State {
  readonly bots: Record<string, Bot>
  readonly guilds: Record<string, Guild>
  readonly channels: Record<string, Channel>
  readonly webhooks: Record<string, Webhook>
  readonly messages: FakeMessage[]
  readonly buckets: FakeBuckets
  next: number
}

const OWNER = '100000000000000001'
const VIEW = 1n << 10n
const SEND = 1n << 11n
const ATTACH = 1n << 15n
const HISTORY = 1n << 16n
/** View, send, embed, attach, read history, send in threads. */
const GRANTED = VIEW | SEND | (1n << 14n) | ATTACH | HISTORY | (1n << 38n)
/** Send messages in threads. */
const SEND_IN_THREADS = 1n << 38n
const THREAD = 11
const FORUM = 15
const MIB = 1_048_576
const FILE_BYTES: Readonly<Record<number, number>> = { 2: 50 * MIB, 3: 100 * MIB }
const NONCE_MS = 300_000
const UNKNOWN_CHANNEL = failure(404, 10_003, 'Unknown Channel')
const UNKNOWN_MESSAGE = failure(404, 10_008, 'Unknown Message')
const NO_ACCESS = failure(403, 50_001, 'Missing Access')
const NO_PERMISSION = failure(403, 50_013, 'Missing Permissions')
const UNAUTHORIZED = failure(401, 0, '401: Unauthorized')

/**
 * The API of Discord: bots with permissions in channels, webhooks, messages with files and nonces, rate limits by bucket
 * (docs.discord.com/developers, 2026-11). It takes paths with and without `/api/v10`.
 */
export function discordFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? {
    bots: {},
    guilds: {},
    channels: {},
    webhooks: {},
    messages: [],
    buckets: {},
    next: 0,
  }
  // Ids are snowflakes: the time since 2015 and a counter.
  const nextId = () => String((BigInt(clock.now() - 1_420_070_400_000) << 22n) + BigInt((kept.next += 1) % 4_194_304))

  /** A bot and a webhook in a channel of a new server. */
  const newAccount = () => {
    const bot = { id: nextId(), username: `sandbox_bot_${kept.next}` }
    const token = `${Buffer.from(bot.id).toString('base64url')}.${randomBytes(4).toString('hex').slice(0, 6)}.${randomBytes(20).toString('hex')}`
    const guild: Guild = { id: nextId(), name: `Sandbox server ${kept.next}`, bots: [bot.id], premiumTier: 0 }
    const channel: Channel = { id: nextId(), type: 0, name: 'news', guild: guild.id, deny: '0' }
    const thread: Channel = { ...channel, id: nextId(), type: THREAD, name: 'Questions', parent: channel.id }
    const forum: Channel = { ...channel, id: nextId(), type: FORUM, name: 'help', tags: { [nextId()]: 'News' } }
    const forumHook = { id: nextId(), token: randomBytes(51).toString('base64url'), channel: forum.id, name: 'Help' }
    const webhook = { id: nextId(), token: randomBytes(51).toString('base64url'), channel: channel.id, name: 'News' }
    kept.bots[token] = bot
    kept.guilds[guild.id] = guild
    for (const one of [thread, forum, channel]) kept.channels[one.id] = one
    for (const one of [forumHook, webhook]) kept.webhooks[one.id] = one
    return { accessToken: token, channel: channel.id, guild: guild.id }
  }

  /** A thread has the permissions of its channel. */
  const allows = (channel: Channel, permission: bigint): boolean => {
    const { deny } = kept.channels[channel.parent ?? ''] ?? channel
    const asked = permission === SEND && channel.type === THREAD ? SEND_IN_THREADS : permission
    return (GRANTED & ~BigInt(deny) & asked) !== 0n
  }

  /** The channel that a message of a webhook goes to: its own, one of its threads, or a new post of a forum. */
  const placeOf = (own: Channel, thread: string | null, { tags, threadName }: Draft): Channel | FakeReply => {
    if (thread !== null && threadName !== null) {
      return failure(400, 220_002, 'Webhooks posted to forum channels cannot have both a thread_name and thread_id')
    }
    if (thread !== null) {
      const found = kept.channels[thread]
      return found?.parent === own.id ? found : UNKNOWN_CHANNEL
    }
    if (own.type !== FORUM) {
      if (threadName === null && tags.length === 0) return own
      return failure(400, 220_003, 'Webhooks can only create threads in forum channels')
    }
    if (threadName === null) {
      return failure(400, 220_001, 'Webhooks posted to forum channels must have a thread_name or thread_id')
    }
    if (threadName.trim() === '' || Array.from(threadName).length > 100) {
      return invalid('thread_name', 'Must be between 1 and 100 in length.')
    }
    if (tags.length > 5 || tags.some((tag) => own.tags?.[tag] === undefined)) {
      return invalid('applied_tags', 'Unknown tag, or more than 5 tags.')
    }
    return { ...own, id: nextId(), type: THREAD, name: threadName, parent: own.id }
  }

  const view = (base: string, message: FakeMessage) => {
    const bot = Object.values(kept.bots).find(({ id }) => id === message.author)
    return messageView(base, message, bot?.username ?? kept.webhooks[message.author]?.name ?? '')
  }

  const create = (request: FakeRequest, own: Channel, author: string, isWebhook: boolean): FakeReply => {
    const read = draftOf(request)
    if ('refusal' in read) return read.refusal
    const { draft } = read
    const { content, embeds, files, isNonceEnforced, mustExist, nonce, poll } = draft
    const tier = kept.guilds[own.guild]?.premiumTier ?? 0
    const refusal = refusalOf(draft, FILE_BYTES[tier] ?? 10 * MIB)
    if (refusal !== undefined) return refusal
    const channel = isWebhook ? placeOf(own, request.query.get('thread_id'), draft) : own
    if ('status' in channel) return channel
    if (files.length > 0 && !isWebhook && !allows(channel, ATTACH)) return NO_PERMISSION
    const now = clock.now()
    const known = isNonceEnforced
      ? kept.messages.find((one) => one.author === author && one.nonce === nonce && now - one.at < NONCE_MS)
      : undefined
    if (known !== undefined) return json(200, view(request.base, known))
    // Webhooks cannot reply: the field is not known there.
    const replyTo = isWebhook ? null : draft.replyTo
    const exists = kept.messages.some(({ channel: at, id }) => id === replyTo && at === channel.id)
    if (replyTo !== null && !exists && mustExist) return invalid('message_reference', 'Unknown message')
    if (replyTo !== null && !allows(channel, HISTORY)) {
      return failure(403, 160_002, 'Cannot reply without permission to read message history')
    }
    const message: FakeMessage = {
      id: nextId(),
      channel: channel.id,
      author,
      isWebhook,
      content,
      embeds,
      files,
      poll,
      replyTo: exists ? replyTo : null,
      nonce,
      at: now,
    }
    kept.channels[channel.id] ??= channel
    kept.messages.push(message)
    const isSilent = isWebhook && request.query.get('wait') !== 'true'
    return isSilent ? { status: 204 } : json(200, view(request.base, message))
  }

  const ofMessage = ({ base, body, method }: FakeRequest, channel: string, id: string, author: string): FakeReply => {
    const index = kept.messages.findIndex((one) => one.id === id && one.channel === channel)
    const message = kept.messages[index]
    if (message === undefined) return UNKNOWN_MESSAGE
    if (method === 'GET') return json(200, view(base, message))
    if (message.author !== author) return failure(403, 50_005, 'Cannot edit a message authored by another user')
    if (method === 'DELETE') {
      kept.messages.splice(index, 1)
      return { status: 204 }
    }
    if (message.poll) return failure(400, 520_003, 'Cannot edit a poll message')
    const content = typeof body['content'] === 'string' ? body['content'] : ''
    if (Array.from(content).length > 2_000) return invalid('content', 'Must be 2000 or fewer in length.')
    message.content = content
    return json(200, view(base, message))
  }

  const ofChannel = (request: FakeRequest, bot: Bot, channel: Channel, rest: string): FakeReply => {
    const { base, method, query } = request
    if (!kept.guilds[channel.guild]?.bots.includes(bot.id) || !allows(channel, VIEW)) return NO_ACCESS
    if (rest === '' && method === 'GET') {
      const { deny, guild, id, name, parent = null, tags, type } = channel
      const overwrites = deny === '0' ? [] : [{ id: guild, type: 0, allow: '0', deny }]
      return json(200, {
        id,
        type,
        name,
        guild_id: guild,
        parent_id: parent,
        permission_overwrites: overwrites,
        ...(tags && {
          available_tags: Object.entries(tags).map(([tag, title]) => ({ id: tag, name: title, moderated: false })),
        }),
      })
    }
    if (rest === '/messages' && method === 'POST') {
      return allows(channel, SEND) ? create(request, channel, bot.id, false) : NO_PERMISSION
    }
    if (rest === '/messages' && method === 'GET') {
      const limit = Number(query.get('limit') ?? 50)
      if (limit < 1 || limit > 100) return invalid('limit', 'int value should be between 1 and 100.')
      const own = allows(channel, HISTORY) ? kept.messages.filter((one) => one.channel === channel.id) : []
      return json(
        200,
        own
          .toReversed()
          .slice(0, limit)
          .map((one) => view(base, one)),
      )
    }
    const id = /^\/messages\/(\d+)$/.exec(rest)?.[1]
    return id === undefined ? failure(404, 0, '404: Not Found') : ofMessage(request, channel.id, id, bot.id)
  }

  const asBot = (request: FakeRequest, path: string): FakeReply => {
    const bot = kept.bots[/^Bot (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '']
    if (bot === undefined) return UNAUTHORIZED
    if (path === '/users/@me')
      return json(200, { ...bot, global_name: null, avatar: null, discriminator: '0000', bot: true })
    const active = /^\/guilds\/(\d+)\/threads\/active$/.exec(path)?.[1]
    if (active !== undefined && kept.guilds[active]?.bots.includes(bot.id)) {
      const threads = Object.values(kept.channels)
        .filter((one) => one.guild === active && one.type === THREAD)
        .map(({ guild, id, name, parent, type }) => ({
          id,
          type,
          name,
          guild_id: guild,
          parent_id: parent,
          owner_id: OWNER,
          flags: 0,
          message_count: 0,
          member_count: 1,
          total_message_sent: 0,
          thread_metadata: {
            archived: false,
            archive_timestamp: null,
            auto_archive_duration: 1_440,
            locked: false,
            create_timestamp: new Date(0).toISOString(),
          },
        }))
      return json(200, { threads, members: [], has_more: false })
    }
    const [, guildId = '', member] = /^\/guilds\/(\d+)(?:\/members\/(\d+))?$/.exec(path) ?? []
    const guild = kept.guilds[guildId]
    if (guild?.bots.includes(bot.id)) {
      if (member === undefined) return json(200, guildView(guild))
      if (!guild.bots.includes(member)) return failure(404, 10_007, 'Unknown Member')
      return json(200, { user: { id: member }, roles: [], nick: null, joined_at: new Date(0).toISOString() })
    }
    const [, channelId = '', rest = ''] = /^\/channels\/(\d+)(\/.*)?$/.exec(path) ?? []
    const channel = kept.channels[channelId]
    if (guildId !== '') return failure(404, 10_004, 'Unknown Guild')
    return channel === undefined ? UNKNOWN_CHANNEL : ofChannel(request, bot, channel, rest)
  }

  const asWebhook = (request: FakeRequest, path: string): FakeReply => {
    const [, id = '', token = '', rest = ''] = /^\/webhooks\/(\d+)\/([\w-]+)(\/.*)?$/.exec(path) ?? []
    const webhook = kept.webhooks[id]
    if (webhook === undefined) return failure(404, 10_015, 'Unknown Webhook')
    if (webhook.token !== token) return failure(401, 50_027, 'Invalid Webhook Token')
    const channel = kept.channels[webhook.channel]!
    if (rest === '' && request.method === 'GET') {
      const { guild: guild_id, id: channel_id } = channel
      return json(200, {
        id,
        type: 1,
        name: webhook.name,
        avatar: null,
        channel_id,
        guild_id,
        application_id: null,
        token,
      })
    }
    if (rest === '' && request.method === 'POST') return create(request, channel, id, true)
    const message = /^\/messages\/(\d+)$/.exec(rest)?.[1]
    return message === undefined
      ? failure(405, 0, '405: Method Not Allowed')
      : ofMessage(request, request.query.get('thread_id') ?? channel.id, message, id)
  }

  return {
    state: kept,
    handle: (request) => {
      const path = request.path.replace(/^\/api(?=\/)/, '').replace(/^\/v\d+(?=\/)/, '')
      if (!/^DiscordBot \(.+, .+\)/.test(request.headers['user-agent'] ?? '')) {
        return failure(403, 40_333, 'internal network error')
      }
      return limited(kept.buckets, clock, { method: request.method, path, token: request.headers.authorization }, () =>
        path.startsWith('/webhooks/') ? asWebhook(request, path) : asBot(request, path),
      )
    },
    newAccount,
    posts: () =>
      kept.messages.map(({ at, author, channel, content, files, id, poll, replyTo }): SandboxPost => ({
        id,
        account: kept.webhooks[author]?.name ?? `#${kept.channels[channel]?.name}`,
        text: content === '' ? (poll?.question?.text ?? '') : content,
        media: files.map(({ type }) => type),
        replyTo,
        publishedAt: new Date(at).toISOString(),
      })),
  }
}

function guildView({ id, name, premiumTier }: Guild) {
  const roles = [{ id, name: '@everyone', permissions: String(GRANTED), position: 0 }]
  return { id, name, icon: null, owner_id: OWNER, premium_tier: premiumTier, roles }
}
