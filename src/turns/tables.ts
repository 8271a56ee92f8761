import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../db/columns.ts'
import { table } from '../db/table.ts'

/** One row per actor: who may commit for it, and how far it is. */
const ActorFence = defineEntity({
  name: 'ActorFence',
  tableName: 'actor_fence',
  properties: {
    key: p.text().primary(),
    /** The activation that may commit. */
    epoch: p.bigint('number').defaultRaw('1'),
    /** Number of the newest event. */
    seq: p.bigint('number').defaultRaw('0'),
    /** The last batch that took effect. */
    batch: p.uuid().nullable(),
    /** Events after this number may not have been announced. Null when all were. */
    unannouncedAfter: p.bigint('number').nullable(),
  },
})

/** The turns of one batch that took effect, by their ids, with their sealed outcomes. Kept for two minutes. */
const TurnOutcome = defineEntity({
  name: 'TurnOutcome',
  tableName: 'turn_outcomes',
  properties: {
    actor: p.text().primary(),
    at: timestamp().primary(),
    commands: p.array().columnType('uuid[]'),
    outcomes: p.blob(),
  },
})

const StoredEvent = defineEntity({
  name: 'StoredEvent',
  tableName: 'workspace_events',
  properties: {
    workspaceId: p.uuid().primary(),
    seq: p.bigint('number').primary(),
    type: p.text(),
    data: p.json<unknown>(),
    at: timestamp(),
    channelId: p.uuid().nullable(),
    userId: p.uuid().nullable(),
  },
})

export const actorFence = table(ActorFence)
export const workspaceEvents = table(StoredEvent)

export const turnEntities = [ActorFence, TurnOutcome, StoredEvent]
