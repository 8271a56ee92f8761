import type { Member } from '../../../core/caller.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Static } from '../../../core/schema.ts'
import type { Turn } from '../../../core/turn.ts'
import { query } from '../../../db/query.ts'
import { topSeq, visibleTo } from './channel-row.ts'
import { chatRead } from './events.ts'
import { readState } from './read-state.ts'
import type { ReadMarker, ReadState } from './schemas.ts'
import { chatTables } from './tables.ts'

interface Marker {
  readonly workspaceId: string
  readonly userId: string
  readonly channelId: string
  readonly seq: number
  readonly muted?: boolean | undefined
  readonly at: Date
}

/** Sets a marker, never past the newest change and never back, regardless of the order of requests. */
const setMarker = query(chatTables, (db, $: Marker) =>
  db
    .insertInto('chatReads')
    .columns(['channelId', 'userId', 'seq', 'muted', 'updatedAt'])
    .expression((e) =>
      e
        .selectFrom('channels as c')
        .select((c) => [
          'c.id',
          c.cast<string>(c.val($.userId), 'uuid').as('userId'),
          c.fn<number>('least', [c.cast<number>(c.val($.seq), 'bigint'), topSeq]).as('seq'),
          c.cast<boolean>(c.val($.muted ?? false), 'boolean').as('muted'),
          c.cast<string>(c.val($.at), 'timestamptz').as('updatedAt'),
        ])
        .where('c.workspaceId', '=', $.workspaceId)
        .where('c.id', '=', $.channelId)
        .where(visibleTo($.userId)),
    )
    .onConflict((conflict) =>
      conflict.columns(['channelId', 'userId']).doUpdateSet((e) => ({
        seq: e.fn<number>('greatest', ['chatReads.seq', 'excluded.seq']),
        updatedAt: e.ref('excluded.updatedAt'),
        ...($.muted !== undefined && { muted: e.ref('excluded.muted') }),
      })),
    ),
)

const stateOf = query(chatTables, (db, $: { channelId: string; userId: string; joinedAt: string }) =>
  db
    .selectFrom('channels as c')
    .leftJoin('chatReads as rd', (join) => join.onRef('rd.channelId', '=', 'c.id').on('rd.userId', '=', $.userId))
    .select(readState($))
    .where('c.id', '=', $.channelId),
)

/** How far people have read. */
export class ChatReads {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws AppError not_found */
  async mark(
    turn: Turn,
    { userId, joinedAt }: Member,
    channelId: string,
    { seq = 0, muted }: Static<typeof ReadMarker>,
  ): Promise<Static<typeof ReadState>> {
    const { workspaceId } = turn
    const at = new Date(this.#clock.now())
    const marked = await setMarker.run(turn.sql, { workspaceId, userId, channelId, seq, muted, at })
    const row = marked === 0 ? undefined : await stateOf.row(turn.sql, { channelId, userId, joinedAt })
    if (row === undefined) throw NotFound()
    const state = { channelId, ...row }
    turn.emit(chatRead, { workspaceId, ...state }, { user: userId })
    return state
  }
}
