import type { Turn } from '../../../core/turn.ts'
import { chatChange } from './events.ts'
import type { CachedChannel } from './channel-cache.ts'
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
 * Numbers a change of a channel, writes it to the log and emits it to those who may see it. A turn makes at most one
 * change per channel, because the number in memory advances only when the turn has succeeded.
 * @returns the number
 */
export function writeChange<K extends ChangeKind>(turn: Turn, cached: CachedChannel, change: NewChange<K>): number {
  const seq = cached.seq + 1
  const { actorId, at, data, messageId, type } = change
  const { _id: channelId } = cached.channel
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
    cached.seq = seq
  })
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the pairs of type and data are those of the union
  const message = { workspaceId: turn.workspaceId, channelId, seq, type, at, actorId, data } as ChangeData
  turn.emit(chatChange, message, cached.channel.private ? { channel: channelId } : undefined)
  return seq
}

/**
 * What the log stores of a change. It never stores message texts: a client that syncs gets the current text, and a
 * deleted text is stored nowhere.
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
