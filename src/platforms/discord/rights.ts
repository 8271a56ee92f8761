import { PlatformError } from '../error-kinds.ts'
import type { Credential, PlatformContext } from '../platform.ts'
import { call, TITLE } from './call.ts'

/** The permissions that publishing uses, as bits (docs.discord.com/developers/topics/permissions, 2026-11). */
const PERMISSIONS = {
  viewChannel: [1n << 10n, 'View Channel'],
  sendMessages: [1n << 11n, 'Send Messages'],
  embedLinks: [1n << 14n, 'Embed Links'],
  attachFiles: [1n << 15n, 'Attach Files'],
  readMessageHistory: [1n << 16n, 'Read Message History'],
  sendMessagesInThreads: [1n << 38n, 'Send Messages in Threads'],
} as const satisfies Record<string, readonly [bigint, string]>
const ADMINISTRATOR = 1n << 3n
const EVERYTHING = ~0n

type Permission = keyof typeof PERMISSIONS

interface Overwrite {
  readonly id: string
  /** 0: a role, 1: a member. */
  readonly type: number
  readonly allow: string
  readonly deny: string
}

export interface Channel {
  readonly id: string
  readonly type: number
  readonly name?: string
  readonly guild_id?: string
  readonly parent_id?: string | null
  readonly permission_overwrites?: readonly Overwrite[]
}

export interface Guild {
  readonly id: string
  readonly name: string
  readonly owner_id: string
  readonly icon: string | null
  readonly premium_tier: number
  readonly roles: readonly { readonly id: string; readonly permissions: string }[]
}

/** A bot, where it publishes, and what it may do there. */
export interface BotPlace {
  readonly bot: { readonly id: string; readonly username: string }
  readonly channel: Channel
  readonly guild: Guild
  readonly rights: Readonly<Record<Permission, boolean>>
  /** The permissions that it lacks, as Discord names them. */
  readonly missing: readonly string[]
}

/** Text, voice, announcement, stage, and the three kinds of threads. Forums take threads only. */
const PUBLISHABLE: readonly number[] = [0, 2, 5, 10, 11, 12, 13]
const THREADS: readonly number[] = [10, 11, 12]

/** Reads the place of a bot. @throws PlatformError */
export async function placeOf(
  context: PlatformContext & { readonly credential: Credential },
  channelId: string,
): Promise<BotPlace> {
  const bot = await call<{ id: string; username: string }>(context, '/users/@me')
  const channel = await call<Channel>(context, `/channels/${channelId}`)
  const { guild_id: guildId, parent_id: parentId } = channel
  if (guildId === undefined || !PUBLISHABLE.includes(channel.type)) {
    throw new PlatformError('unsupported', TITLE, {
      code: 'channel_type',
      detail: 'Crier publishes to text and announcement channels, voice chats and threads of a server.',
    })
  }
  const guild = await call<Guild>(context, `/guilds/${guildId}`)
  const { roles } = await call<{ roles: readonly string[] }>(context, `/guilds/${guildId}/members/${bot.id}`)
  const isThread = THREADS.includes(channel.type)
  // A thread has the permissions of the channel that it is in.
  const ruled = isThread && parentId ? await call<Channel>(context, `/channels/${parentId}`) : channel
  const granted = permissionsOf(bot.id, roles, guild, ruled.permission_overwrites ?? [])
  const names = Object.keys(PERMISSIONS) as Permission[]
  const rights = Object.fromEntries(names.map((name) => [name, (granted & PERMISSIONS[name][0]) !== 0n])) as Record<
    Permission,
    boolean
  >
  const asked = names.filter((name) => name !== (isThread ? 'sendMessages' : 'sendMessagesInThreads'))
  const missing = asked.filter((name) => !rights[name]).map((name) => PERMISSIONS[name][1])
  return { bot, channel, guild, rights, missing }
}

/** @throws PlatformError scope_missing when the bot may not send messages to the channel */
export function requireSending({ bot, channel, missing }: BotPlace): void {
  const needed = missing.filter((name) => name === 'View Channel' || name.startsWith('Send Messages'))
  if (needed.length === 0) return
  throw new PlatformError('scope_missing', TITLE, {
    code: 'bot_rights',
    detail: `The bot ${bot.username} lacks permissions in #${channel.name}: ${needed.join(', ')}.`,
  })
}

/** Roles first, then the overwrites of the channel: everyone, roles, member. */
function permissionsOf(bot: string, roles: readonly string[], guild: Guild, overwrites: readonly Overwrite[]): bigint {
  if (guild.owner_id === bot) return EVERYTHING
  const own = guild.roles.filter(({ id }) => id === guild.id || roles.includes(id))
  let granted = own.reduce((sum, { permissions }) => sum | BigInt(permissions), 0n)
  if ((granted & ADMINISTRATOR) !== 0n) return EVERYTHING
  const groups = [
    overwrites.filter(({ id }) => id === guild.id),
    overwrites.filter(({ id, type }) => type === 0 && id !== guild.id && roles.includes(id)),
    overwrites.filter(({ id, type }) => type === 1 && id === bot),
  ]
  for (const group of groups) {
    const deny = group.reduce((sum, overwrite) => sum | BigInt(overwrite.deny), 0n)
    const allow = group.reduce((sum, overwrite) => sum | BigInt(overwrite.allow), 0n)
    granted = (granted & ~deny) | allow
  }
  return granted
}
