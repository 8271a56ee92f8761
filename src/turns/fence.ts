import { FencedError } from '../../actors/index.ts'
import type { Sql } from '../core/sql.ts'

// Written by hand: every batch runs one of the two (`npm run bench:actors`), and the second one fails on purpose.
// What was committed before has been announced: by this node, or by the activation.
const TAKE = `update actor_fence set batch = $3, unannounced_after = seq
  where key = $1 and epoch = $2 returning seq`

// Where the row is not as expected the transaction cannot go on, and its commit takes all back.
const HOLD = `with held as (
    update actor_fence set batch = $3, unannounced_after = seq where key = $1 and epoch = $2 and seq = $4 returning 1)
  select 1 / count(*) as held from held`
const DIVISION_BY_ZERO = '22012'

/**
 * Locks an actor's row for a batch: the lock orders the batch among all that commit for the actor. Where the number of
 * the workspace's newest event is known from the batch before, nobody has to wait for this: whatever follows in the
 * transaction fails unless the actor still is as this node left it.
 * @param seq the newest number, when it is known
 * @returns the newest number @throws FencedError when the actor has another owner by now
 */
export async function fence(
  sql: Sql,
  { actor, epoch, id }: { readonly actor: string; readonly epoch: number; readonly id: string },
  seq: number | undefined,
): Promise<number> {
  if (seq === undefined) {
    const row = await sql.row<{ seq: number }>(TAKE, [actor, epoch, id])
    if (row === undefined) throw movedOn(actor, epoch)
    return row.seq
  }
  try {
    await sql.run(HOLD, [actor, epoch, id, seq])
    return seq
  } catch (error) {
    throw (error as { code?: string }).code === DIVISION_BY_ZERO ? movedOn(actor, epoch) : error
  }
}

function movedOn(actor: string, epoch: number): FencedError {
  return new FencedError(`${actor} has moved on from epoch ${epoch}`)
}
