import type { Statement } from '../db/commit.ts'
import { jsonArray } from '../db/json-array.ts'
import type { Batch } from './batch.ts'
import type { KeptOutcomes } from './turn-outcomes.ts'

// Written by hand: the last write of every batch is one statement that is sent together with the commit
// (`npm run bench:actors`).
const MOVED = 'moved as (update actor_fence set seq = seq + $2 where key = $1)'
const INSERT_EVENTS = `insert into workspace_events (workspace_id, seq, type, data, at, channel_id, user_id)
  select $3::uuid, seq, type, data, at, channel_id, user_id
  from unnest($4::bigint[], $5::text[], $6::json[], $7::timestamptz[], $8::uuid[], $9::uuid[])
    as event (seq, type, data, at, channel_id, user_id)`

// `clock_timestamp()`, not `now()`: the lock on the actor's row orders batches, so these times follow the same order.
const WRITE_OUTCOMES = `insert into turn_outcomes (actor, at, commands, outcomes)
  values ($1, clock_timestamp(), $2::uuid[], $3)`

const WRITE_EVENTS = `with ${MOVED} ${INSERT_EVENTS}`
const WRITE_BOTH = `with ${MOVED}, kept as (
    insert into turn_outcomes (actor, at, commands, outcomes) values ($1, clock_timestamp(), $10::uuid[], $11)
  ) ${INSERT_EVENTS}`

/** The last write of a batch: its events, the new event number, and the outcomes of its turns. */
export function endOf(actor: string, batch: Batch, kept: KeptOutcomes | undefined): Statement[] {
  const { numbered } = batch
  if (numbered === 0) return kept ? [{ text: WRITE_OUTCOMES, values: [actor, kept.ids, kept.sealed] }] : []
  const stored = batch.events.filter(({ seq }) => seq > 0)
  const values = [
    actor,
    numbered,
    stored[0]?.workspaceId ?? null,
    stored.map(({ seq }) => seq),
    stored.map(({ type }) => type),
    jsonArray(stored.map(({ data }) => JSON.stringify(data))),
    stored.map(({ at }) => at),
    stored.map(({ channel }) => channel),
    stored.map(({ user }) => user),
  ]
  return [kept ? { text: WRITE_BOTH, values: [...values, kept.ids, kept.sealed] } : { text: WRITE_EVENTS, values }]
}
