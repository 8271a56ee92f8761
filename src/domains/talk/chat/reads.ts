import type { Caller } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Static } from '../../../core/schema.ts'
import type { Turn } from '../../../core/turn.ts'
import { READ_COLUMNS, READ_JOINS } from './channel-list.ts'
import { VISIBLE } from './channel-row.ts'
import { chatRead } from './events.ts'
import type { ReadMarker, ReadState } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly chatReads: ChatReads
  }
}

// Never past the newest change, and never back, in whatever order two markers come.
const MARK = `
  insert into chat_reads (channel_id, user_id, seq, muted, updated_at)
  select c.id, $2, least($4::bigint, (select coalesce(max(seq), 0) from chat_log where channel_id = c.id)),
    coalesce($5, false), $6
  from channels c where c.workspace_id = $1 and c.id = $3 and ${VISIBLE}
  on conflict (channel_id, user_id) do update
  set seq = greatest(chat_reads.seq, excluded.seq), muted = coalesce($5, chat_reads.muted), updated_at = excluded.updated_at`
const STATE = `select ${READ_COLUMNS} from channels c ${READ_JOINS} where c.workspace_id = $1 and c.id = $3`

/** How far people have read. */
export class ChatReads {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws AppError not_found */
  async mark(
    turn: Turn,
    { userId }: Caller,
    channelId: string,
    { seq = 0, muted }: Static<typeof ReadMarker>,
  ): Promise<Static<typeof ReadState>> {
    const { sql, workspaceId } = turn
    const place = [workspaceId, userId, channelId]
    const marked = await sql.run(MARK, [...place, seq, muted ?? null, new Date(this.#clock.now())])
    if (marked === 0) throw NotFound()
    const row = await sql.row<{ read_seq: number; muted: boolean; unread: number; mentions: number }>(STATE, place)
    if (row === undefined) throw NotFound()
    const state = {
      channelId,
      readSeq: row.read_seq,
      muted: row.muted,
      unreadCount: row.unread,
      mentionCount: row.mentions,
    }
    turn.emit(chatRead, { workspaceId, ...state }, { user: userId })
    return state
  }
}
