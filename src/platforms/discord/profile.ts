import { Type, type Static } from 'typebox'
import { PlatformError } from '../error-kinds.ts'
import type { AccountContext, Credential, Grant, LiveCapabilities, PlatformContext, Profile } from '../platform.ts'
import { choicesIn } from '../choices.ts'
import { call, TITLE, webhookOf, type Webhook } from './call.ts'
import { placeOf, requireSending, type BotPlace } from './rights.ts'
import { NO_FORUM, threadsOf } from './threads.ts'

const MIB = 1_048_576
/** Largest file by the boosts of a server (support.discord.com, Server Boosting, 2026-11). */
const FILE_BYTES: Readonly<Record<number, number>> = { 2: 50 * MIB, 3: 100 * MIB }
const WEBHOOK = /^https:\/\/(?:(?:ptb|canary)\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/(\d+)\/([\w-]+)\/?$/

export const Fields = Type.Object({
  webhookUrl: Type.Optional(
    Type.String({
      description: 'The address of a webhook of a channel. Instead of a bot.',
      pattern: String.raw`^https://(?:(?:ptb|canary)\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[\w-]+/?$`,
      writeOnly: true,
    }),
  ),
  botToken: Type.Optional(
    Type.String({
      description: 'The token of a bot, from the page “Bot” of its application. With `channel`.',
      pattern: String.raw`^[\w-]{18,}\.[\w-]{4,}\.[\w-]{20,}$`,
      writeOnly: true,
    }),
  ),
  channel: Type.Optional(
    Type.String({ description: 'The id of the channel that the bot publishes to.', pattern: String.raw`^\d{15,20}$` }),
  ),
})

/** Checks a bot or a webhook live. A channel is an account; so is a webhook. @throws PlatformError */
export async function connect(
  context: PlatformContext,
  { botToken, channel, webhookUrl }: Static<typeof Fields>,
): Promise<Grant> {
  if (webhookUrl !== undefined && botToken === undefined) {
    const [, webhook = '', accessToken = ''] = WEBHOOK.exec(webhookUrl) ?? []
    return grantOf(context, { accessToken, webhook })
  }
  if (botToken === undefined || channel === undefined || webhookUrl !== undefined) {
    throw new PlatformError('validation', TITLE, {
      code: 'fields',
      detail: 'Enter either `webhookUrl`, or `botToken` and `channel`.',
      mayHaveHappened: false,
    })
  }
  return grantOf(context, { accessToken: botToken, channel })
}

async function grantOf(context: PlatformContext, credential: Credential): Promise<Grant> {
  const profile = await profileOf({ ...context, credential })
  // The addresses of messages need it.
  const guild = /\/channels\/(\d+)\//.exec(profile.url ?? '')?.[1]
  return { profile, credential: { ...credential, ...(guild !== undefined && { guild }) }, scopes: null }
}

/** The channel of a bot or the webhook, after a check that it can publish. @throws PlatformError */
export async function profileOf(context: PlatformContext & { readonly credential: Credential }): Promise<Profile> {
  const webhook = webhookOf(context.credential)
  if (webhook !== undefined) return webhookProfile(context, webhook)
  const place = await placeOf(context, String(context.credential['channel']))
  requireSending(place)
  const { channel, guild } = place
  return {
    remoteId: channel.id,
    name: `#${channel.name} · ${guild.name}`,
    handle: null,
    avatarUrl: guild.icon === null ? null : `https://cdn.discordapp.com/icons/${guild.id}/${guild.icon}.png`,
    url: `https://discord.com/channels/${guild.id}/${channel.id}`,
    kind: KINDS[channel.type] ?? 'channel',
  }
}

const KINDS: Readonly<Record<number, string>> = { 5: 'announcement', 10: 'thread', 11: 'thread', 12: 'thread' }

async function webhookProfile(
  context: PlatformContext & { readonly credential: Credential },
  { id, token }: Webhook,
): Promise<Profile> {
  const found = await call<{
    id: string
    name: string | null
    avatar: string | null
    guild_id?: string
    channel_id: string | null
  }>(context, `/webhooks/${id}/${token}`)
  return {
    remoteId: found.id,
    name: found.name ?? 'Webhook',
    handle: null,
    avatarUrl: found.avatar === null ? null : `https://cdn.discordapp.com/avatars/${found.id}/${found.avatar}.png`,
    url: found.guild_id === undefined ? null : `https://discord.com/channels/${found.guild_id}/${found.channel_id}`,
    kind: 'webhook',
  }
}

/** What the bot may do in its channel, and the size of files that its server takes. */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  if (webhookOf(context.credential) !== undefined) {
    return {
      limits: { 'thread.max': 1 },
      blocked: { thread: 'A webhook cannot reply to a message. Connect a bot for threads and first comments.' },
      details: { webhook: true },
    }
  }
  const place = await placeOf(context, String(context.credential['channel']))
  const { bot, guild, missing, rights } = place
  const bytes = FILE_BYTES[guild.premium_tier]
  return {
    limits:
      bytes === undefined
        ? {}
        : { 'image.maxBytes': bytes, 'gif.maxBytes': bytes, 'video.maxBytes': bytes, 'document.maxBytes': bytes },
    blocked: { ...blockedOf(place), forum: NO_FORUM },
    choices: await choicesIn(context, 'thread_id', threadsOf),
    details: { bot: bot.username, server: guild.name, rights, missing },
  }
}

function blockedOf({ channel, missing, rights }: BotPlace): Record<string, string> {
  const inChannel = `The bot lacks a permission in #${channel.name}:`
  const cannotSend = missing.some((name) => name === 'View Channel' || name.startsWith('Send Messages'))
  return {
    ...(cannotSend && { publish: `${inChannel} ${missing.join(', ')}.` }),
    ...(!rights.attachFiles && { media: `${inChannel} Attach Files.` }),
    ...(!rights.embedLinks && { embeds: `${inChannel} Embed Links.` }),
    ...(!rights.readMessageHistory && {
      thread: `${inChannel} Read Message History. It is needed to reply, and to find a message whose reply was lost.`,
    }),
  }
}
