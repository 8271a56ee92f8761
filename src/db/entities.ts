import { defineEntity, p } from '@mikro-orm/postgresql'

/** The tables that no domain owns: what turns and the pipeline stand on. */

const time = () => p.datetime().columnType('timestamptz')

/**
 * Who may commit for an actor, the number of its newest event, the last batch that took effect, and the number after
 * which its events may not have been announced; null: all was announced.
 */
const ActorFence = defineEntity({
  name: 'ActorFence',
  tableName: 'actor_fence',
  properties: {
    key: p.text().primary(),
    epoch: p.bigint('number').defaultRaw('1'),
    seq: p.bigint('number').defaultRaw('0'),
    batch: p.uuid().nullable(),
    unannouncedAfter: p.bigint('number').nullable(),
  },
})

/** The turns of one batch that took effect, by their ids, with their sealed outcomes; kept for two minutes. */
const TurnOutcome = defineEntity({
  name: 'TurnOutcome',
  tableName: 'turn_outcomes',
  properties: {
    actor: p.text().primary(),
    at: time().primary(),
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
    data: p.json(),
    at: time(),
    channelId: p.uuid().nullable(),
    userId: p.uuid().nullable(),
  },
})

const AuditRecord = defineEntity({
  name: 'AuditRecord',
  tableName: 'audit_log',
  indexes: [
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
    details: p.json().nullable(),
    remoteAddress: p.text(),
    userAgent: p.text(),
    requestId: p.text(),
    createdAt: time(),
  },
})

export const foundationEntities = [ActorFence, TurnOutcome, StoredEvent, AuditRecord]
