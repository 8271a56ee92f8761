import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../db/columns.ts'
import { table } from '../db/table.ts'

/** One row per actor: the epoch that may commit, and the number of the newest event. */
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
    // Written with each turn and read as a whole, so it is not parsed into jsonb.
    data: p.json<unknown>().columnType('json'),
    at: timestamp(),
    channelId: p.uuid().nullable(),
    userId: p.uuid().nullable(),
  },
})

/** Who did what in a workspace. Turns write it; entries never change. */
const AuditEntry = defineEntity({
  name: 'AuditRecord',
  tableName: 'audit_log',
  indexes: [
    { name: 'audit_log_by_actor', properties: ['actorId', 'id'] },
    {
      name: 'audit_log_by_action',
      expression: 'create index audit_log_by_action on audit_log (workspace_id, action, created_at desc, id desc)',
    },
    {
      name: 'audit_log_of_actor',
      expression: 'create index audit_log_of_actor on audit_log (workspace_id, actor_id, created_at desc, id desc)',
    },
    {
      name: 'audit_log_by_time',
      expression: 'create index audit_log_by_time on audit_log (workspace_id, created_at desc, id desc)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: p.uuid(),
    actorId: p.uuid().nullable(),
    actorVia: p.text(),
    apiKeyId: p.uuid().nullable(),
    action: p.text(),
    targetKind: p.text().nullable(),
    targetId: p.text().nullable(),
    details: p.json<Readonly<Record<string, unknown>>>().nullable(),
    remoteAddress: p.text(),
    userAgent: p.text(),
    requestId: p.text(),
    createdAt: timestamp(),
  },
})

export const actorFence = table(ActorFence)
export const turnOutcomes = table(TurnOutcome)
export const workspaceEvents = table(StoredEvent)
export const auditLog = table(AuditEntry)

export const turnEntities = [ActorFence, TurnOutcome, StoredEvent, AuditEntry]
