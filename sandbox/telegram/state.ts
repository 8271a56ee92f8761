import { json, type FakeReply } from '../fake.ts'
import type { FakeEntity } from './entities.ts'
import type { FakePoll } from './polls.ts'

export interface FakeBot {
  readonly id: number
  readonly username: string
}

/** A bot in a chat. Rights are named as in the Bot API: `can_post_messages`. */
export interface FakeMember {
  status: 'administrator' | 'member' | 'restricted' | 'kicked'
  rights: Record<string, boolean>
}

export interface FakeChat {
  readonly id: number
  readonly type: 'group' | 'supergroup' | 'channel'
  readonly title: string
  readonly username: string | null
  /** The topics of a group that has some. */
  topics: number[]
  /** What all members may do. */
  permissions: Record<string, boolean>
  /** By the id of the bot. A bot that is missing is not a member. */
  readonly members: Record<string, FakeMember>
  /** The id of the supergroup that the group has become. */
  migratedTo: number | null
}

/** A file that Telegram has received. */
export interface FakeFile {
  readonly id: string
  readonly field: 'photo' | 'video' | 'animation' | 'document'
  readonly name: string
  readonly type: string
  readonly bytes: number
  readonly width: number
  readonly height: number
  readonly seconds: number
}

export interface FakeMessage {
  readonly id: number
  readonly chat: number
  readonly bot: number
  text: string
  entities?: readonly FakeEntity[]
  readonly file: FakeFile | null
  readonly poll?: FakePoll | null
  readonly album: string | null
  readonly replyTo: number | null
  readonly topic: number | null
  readonly date: number
  readonly isSilent: boolean
  readonly isProtected: boolean
  readonly preview: unknown
  isPinned: boolean
}

export interface FakeState {
  readonly bots: Record<string, FakeBot>
  readonly chats: FakeChat[]
  messages: FakeMessage[]
  /** Files by their id. */
  readonly files: Record<string, FakeFile>
  next: number
}

/** All permissions of the members of a group (core.telegram.org/bots/api#chatpermissions, 2026-11). */
export const ALL_PERMISSIONS = {
  can_send_messages: true,
  can_send_photos: true,
  can_send_videos: true,
  can_send_documents: true,
  can_send_polls: true,
  can_send_other_messages: true,
}

export function result(value: unknown): FakeReply {
  return json(200, { ok: true, result: value })
}

/** An error of the Bot API. Thrown by methods, and sent as the reply. */
export class Refusal extends Error {
  readonly reply: FakeReply

  constructor(code: number, description: string, parameters?: Readonly<Record<string, number>>) {
    super(description)
    const retryAfter = parameters?.['retry_after']
    const body = { ok: false, error_code: code, description, ...(parameters && { parameters }) }
    this.reply = json(code, body, retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) })
  }
}

/** A parameter that is an object: as JSON, or as a text in a form. */
export function objectOf(value: unknown): unknown {
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    throw new Refusal(400, "Bad Request: can't parse JSON object")
  }
}

/** A parameter that is a text or a number, as text. Empty for all others. */
export function plainOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** A parameter that is a truth value: as JSON, or as a text in a form. */
export function isTrue(value: unknown): boolean {
  return value === true || ['true', 'yes', '1'].includes(String(value).toLowerCase())
}

/** The chat of a request, after a check that the bot is there. */
export function chatOf({ chats }: FakeState, bot: FakeBot, id: unknown): { chat: FakeChat; member: FakeMember } {
  const chat = findChat(chats, id)
  if (chat.migratedTo !== null) {
    throw new Refusal(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
      migrate_to_chat_id: chat.migratedTo,
    })
  }
  const member = chat.members[bot.id]
  if (member === undefined) throw new Refusal(403, `Forbidden: bot is not a member of the ${chat.type} chat`)
  if (member.status === 'kicked') throw new Refusal(403, `Forbidden: bot was kicked from the ${chat.type} chat`)
  return { chat, member }
}

export function findChat(chats: readonly FakeChat[], id: unknown): FakeChat {
  const text = plainOf(id)
  if (text === '') throw new Refusal(400, 'Bad Request: chat_id is empty')
  const found = chats.find(
    (chat) => String(chat.id) === text || `@${chat.username}`.toLowerCase() === text.toLowerCase(),
  )
  if (found === undefined) throw new Refusal(400, 'Bad Request: chat not found')
  return found
}

/** A chat as it stands in messages. */
export function chatView({ id, title, type, username }: FakeChat) {
  return { id, type, title, ...(username !== null && { username }) }
}
