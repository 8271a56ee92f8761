import type { Turn } from '../../../core/turn.ts'
import { chatChange } from './events.ts'
import type { Room } from './rooms.ts'
import type { ChangeData, ChangeKind } from './schemas.ts'
import { chatLog } from './tables.ts'

type DataOf<K extends ChangeKind> = Extract<ChangeData, { type: K }>['data']

interface NewChange<K extends ChangeKind> {
  readonly type: K
  readonly actorId: string
  /** ISO 8601. */
  readonly at: string
  readonly messageId?: string
  readonly data: DataOf<K>
}

/**
 * Gives a change the next place in its channel, writes it and tells those who may see it. A turn makes one change of a
 * channel at most: numbers are counted in memory and stand once the turn has succeeded.
 * @returns its number
 */
export function writeChange<K extends ChangeKind>(turn: Turn, room: Room, change: NewChange<K>): number {
  const seq = room.seq + 1
  const { actorId, at, data, messageId, type } = change
  const { _id: channelId } = room.channel
  turn.insert(chatLog, {
    channelId,
    seq,
    type,
    messageId: messageId ?? null,
    byId: actorId,
    data: kept(type, data),
    at,
  })
  turn.settled(() => {
    room.seq = seq
  })
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the pairs of type and data are those of the union
  const message = { workspaceId: turn.workspaceId, channelId, seq, type, at, actorId, data } as ChangeData
  turn.emit(chatChange, message, room.channel.private ? { channel: channelId } : undefined)
  return seq
}

/**
 * What the log keeps of a change. Texts stay where they are, with the message: whoever was away gets the present one,
 * and nothing is left in the log of what was deleted.
 */
function kept(type: ChangeKind, data: object): object | null {
  switch (type) {
    case 'message':
    case 'pin':
    case 'unpin':
      return null
    case 'edit':
      return { edits: (data as DataOf<'edit'>).edits }
    default:
      return data
  }
}
