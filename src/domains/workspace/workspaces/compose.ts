import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { AuditLog } from './audit-log.ts'
import { CountChecks } from './count-checks.ts'
import { EventLog } from './event-log.ts'
import { WorkspaceLogRetention } from './log-retention.ts'
import { MemberCache } from './memberships.ts'
import { WorkspaceService } from './service.ts'
import { payerOf } from './workspace-store.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly workspaces: ReturnType<typeof composeWorkspaces>['services']['workspaces']
  }
}

/** Builds the services of the domain. */
export function composeWorkspaces(foundation: Foundation, { auth, plans }: Pick<Services, 'auth' | 'plans'>) {
  const { clock, config, coordination, database, declared, logs, onAgain, searches } = foundation
  const memberships = new MemberCache(database, clock, coordination)
  onAgain((workspaceId) => memberships.changed(workspaceId))
  const service = new WorkspaceService({ database, clock, logs, plans, members: memberships })
  plans.payerOf.provide((workspaceId) => payerOf(database, workspaceId))
  auth.apiKeys.workspaceIds.provide(async (sql, userId) => (await service.ofUser(userId, sql)).map(({ id }) => id))
  const days = { events: config.EVENT_DAYS, audit: config.AUDIT_DAYS }
  const workspaces = {
    service,
    memberships,
    auditLog: new AuditLog(database, logs, searches),
    eventLog: new EventLog(database, logs, declared.eventTypes),
    counts: new CountChecks(foundation),
    logRetention: new WorkspaceLogRetention(foundation, days),
  }
  return { services: { workspaces }, close: () => memberships.close() }
}
