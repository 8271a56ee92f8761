/** What all members of a group may do, or one who is restricted (core.telegram.org/bots/api#chatpermissions, 2026-11). */
interface Permissions {
  readonly can_send_messages?: boolean
  readonly can_send_photos?: boolean
  readonly can_send_videos?: boolean
  readonly can_send_documents?: boolean
  readonly can_send_polls?: boolean
  /** Animations too. */
  readonly can_send_other_messages?: boolean
}

/** A chat as getChat returns it (core.telegram.org/bots/api#chatfullinfo, 2026-11). */
export interface Chat {
  readonly id: number
  readonly type: 'private' | 'group' | 'supergroup' | 'channel'
  readonly title?: string
  readonly username?: string
  readonly is_forum?: boolean
  readonly permissions?: Permissions
  /** Seconds between two messages of a member. */
  readonly slow_mode_delay?: number
}

/** The bot in a chat (core.telegram.org/bots/api#chatmember, 2026-11). */
export interface Member extends Permissions {
  readonly status: 'creator' | 'administrator' | 'member' | 'restricted' | 'left' | 'kicked'
  readonly can_post_messages?: boolean
  readonly can_edit_messages?: boolean
  readonly can_delete_messages?: boolean
  readonly can_pin_messages?: boolean
}

export interface Rights {
  /** Why the bot cannot publish, after its name: `is not a member of this chat`. */
  readonly missing: string | undefined
  /** What the bot may not send: the name in `LiveCapabilities.blocked`, and a noun for messages. */
  readonly forbidden: readonly (readonly [what: string, noun: string])[]
  readonly canPin: boolean
  readonly canDelete: boolean
}

const KINDS = [
  ['image', 'photos', 'can_send_photos'],
  ['video', 'videos', 'can_send_videos'],
  ['gif', 'animations', 'can_send_other_messages'],
  ['document', 'documents', 'can_send_documents'],
  ['poll', 'polls', 'can_send_polls'],
] as const

/** What a bot may do in its chat. Administrators may send everything; others what the group or their restriction allows. */
export function rightsOf(chat: Chat, member: Member): Rights {
  const missing = missingRight(chat, member)
  const isAdmin = member.status === 'creator' || member.status === 'administrator'
  const given = permissionsOf(chat, member)
  return {
    missing,
    forbidden: KINDS.flatMap(([what, noun, right]) =>
      isAdmin || chat.type === 'channel' || given[right] !== false ? [] : [[what, noun] as const],
    ),
    canPin: isAdmin
      ? member.status === 'creator' ||
        (chat.type === 'channel' ? member.can_edit_messages : member.can_pin_messages) === true
      : chat.type === 'private',
    canDelete: member.status === 'creator' || member.can_delete_messages === true,
  }
}

function permissionsOf(chat: Chat, member: Member): Permissions {
  return member.status === 'restricted' ? member : (chat.permissions ?? {})
}

function missingRight(chat: Chat, member: Member): string | undefined {
  if (member.status === 'left' || member.status === 'kicked') return 'is not a member of this chat'
  if (member.status === 'creator') return undefined
  if (chat.type === 'channel') {
    if (member.status !== 'administrator') return 'is not an administrator of this channel'
    return member.can_post_messages === true ? undefined : 'may not post messages in this channel'
  }
  if (member.status === 'administrator' || chat.type === 'private') return undefined
  const { can_send_messages: canSend } = permissionsOf(chat, member)
  const isRefused = member.status === 'restricted' ? canSend !== true : canSend === false
  return isRefused ? 'may not send messages here' : undefined
}
