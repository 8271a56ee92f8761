import type { EventType } from '../../../core/event.ts'
import type { Channels } from '../../../core/ports.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { AuditLog } from './audit-log.ts'
import { EventLog } from './event-log.ts'
import { WorkspaceLogRetention } from './log-retention.ts'
import { MemberCache } from './memberships.ts'
import { WorkspaceService } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly workspaces: ReturnType<typeof composeWorkspaces>
  }
}

/** Builds the services of the domain. `close` the memberships with the node. */
export function composeWorkspaces(
  foundation: Foundation,
  others: {
    readonly plans: PlanService
    /** Who is in which channel. Chat is a domain that depends on workspaces. */
    readonly channels: Channels
    readonly eventTypes: ReadonlyMap<string, EventType>
  },
) {
  const { clock, config, coordination, database, logs, searches } = foundation
  const { channels, eventTypes, plans } = others
  const memberships = new MemberCache(database, clock, coordination)
  const days = { events: config.EVENT_DAYS, audit: config.AUDIT_DAYS }
  return {
    service: new WorkspaceService({ database, clock, logs, plans, members: memberships }),
    memberships,
    auditLog: new AuditLog(database, logs, searches),
    eventLog: new EventLog({ sql: database, logs, types: eventTypes, channels }),
    logRetention: new WorkspaceLogRetention({ sql: database, logs, clock, days }),
  }
}
