import { defineEntity, p } from '@mikro-orm/postgresql'

/** The tables that no domain owns: what turns and the pipeline stand on. */

const time = () => p.datetime().columnType('timestamptz')

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

export const foundationEntities = [AuditRecord]
