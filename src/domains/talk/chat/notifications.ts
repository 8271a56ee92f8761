import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { chatReads } from './tables.ts'

/** Clients that show the channel mark the message as read within this time. */
const SETTLE_SECONDS = 3

const data = Type.Object({
  channelId: Type.String(),
  channel: Type.String(),
  seq: Type.Integer(),
  message: Type.String(),
})

const example = { channelId: EXAMPLE.channelId, channel: '#launch', seq: 42, message: 'Live in five minutes' }

interface Place {
  readonly channelId: string
  readonly seq: number
}

const common = {
  scope: 'chat:read',
  data,
  example,
  resource: ({ channelId }: Place) => ({ kind: 'channel', id: channelId }),
  group: ({ channelId }: Place) => channelId,
  urgent: true,
  settleSeconds: SETTLE_SECONDS,
  isSeen: async (sql: Sql, userId: string, { channelId, seq }: Place) => {
    const read = await chatReads.first(sql, { channelId, userId }, { columns: ['seq', 'muted'] })
    return read !== undefined && (read.muted || read.seq >= seq)
  },
} as const

export const chatMentioned = notificationType({
  ...common,
  name: 'chat.mentioned',
  kind: 'mention',
  summary: 'A message mentions you, or everyone in a channel, unless you have read it or muted the channel',
})

export const chatDirectMessage = notificationType({
  ...common,
  name: 'chat.directMessage',
  kind: 'directMessage',
  summary: 'A message in a direct conversation, unless you have read it or muted the conversation',
})
