import { FencedError } from '../../actors/index.ts'
import type { Sql } from '../core/sql.ts'

// Both statements are written by hand: every batch runs one of them (`npm run bench:actors`), and the second one fails on
// purpose. `unannounced_after` may move to `seq`, because this node or the activation has announced the earlier batches.
const TAKE = `update actor_fence set batch = $3, unannounced_after = seq
  where key = $1 and epoch = $2 and ($4::uuid is null or batch = $4) returning seq`

// Fails if the row is not as expected. The transaction then cannot continue, and its commit rolls it back.
const HOLD = `with held as (
    update actor_fence set batch = $3, unannounced_after = seq where key = $1 and epoch = $2 and seq = $4 and batch = $5
    returning 1)
  select 1 / count(*) as held from held`
const DIVISION_BY_ZERO = '22012'

/** What this node knows of an actor's row from the batches that it committed. */
export interface KnownRow {
  /** The number of the newest event. */
  readonly seq: number | undefined
  /**
   * The last batch. Not all batches have numbered events, so only its id shows that the database went back, such as
   * after the promotion of a standby that had not received everything.
   */
  readonly batch: string | undefined
}

/**
 * Locks an actor's row for a batch. The lock orders all batches of the actor. If the number of the newest event is known
 * from the previous batch, callers need not wait for the result: the rest of the transaction fails if the row has changed.
 * @returns the number of the newest event
 * @throws FencedError when the actor has another owner by now, or the database has lost the last batch
 */
export async function fence(
  sql: Sql,
  { actor, epoch, id }: { readonly actor: string; readonly epoch: number; readonly id: string },
  { batch, seq }: KnownRow,
): Promise<number> {
  if (seq === undefined || batch === undefined) {
    const row = await sql.row<{ seq: number }>(TAKE, [actor, epoch, id, batch ?? null])
    if (row === undefined) throw movedOn(actor, epoch)
    return row.seq
  }
  try {
    await sql.run(HOLD, [actor, epoch, id, seq, batch])
    return seq
  } catch (error) {
    throw (error as { code?: string }).code === DIVISION_BY_ZERO ? movedOn(actor, epoch) : error
  }
}

function movedOn(actor: string, epoch: number): FencedError {
  return new FencedError(`${actor} has moved on from epoch ${epoch}`)
}
