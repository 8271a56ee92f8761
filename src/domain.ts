import type { EntitySchema } from '@mikro-orm/postgresql'
import type { EventType } from './core/event.ts'
import type { AnyJob } from './core/job.ts'
import type { NotificationType } from './core/notification.ts'
import type { AnyOperation } from './core/operation.ts'
import type { PersonalData } from './core/personal-data.ts'
import type { Services } from './core/services.ts'
import type { AnySystemTurn } from './core/system-turn.ts'
import type { Foundation } from './foundation.ts'

/**
 * Everything that a domain adds to the service. Each domain exports one from its `domain.ts`; `src/registry/domains.ts`
 * lists them.
 */
export interface Domain {
  /**
   * The tag of the domain's operations in the API document, and the name under which administrators switch them off.
   * Domains that are switched together share a name.
   */
  readonly name: string
  /**
   * What the operations are about, for the documentation and the CLI. Only one of the domains with the same name sets
   * it.
   */
  readonly about?: string
  readonly operations?: Readonly<Record<string, AnyOperation>>
  readonly events?: Readonly<Record<string, EventType>>
  /** Notifications that the domain sends to users. */
  readonly notifications?: Readonly<Record<string, NotificationType>>
  /** Jobs and schedules. */
  readonly jobs?: Readonly<Record<string, AnyJob>>
  /** Turns that the service runs by itself. */
  readonly turns?: readonly AnySystemTurn[]
  readonly entities?: readonly EntitySchema[]
  /**
   * Tables of the domain that have `id` and `workspace_id` and are addressed by path parameters. `owner('streams')`
   * uses them to find the workspace of a request.
   */
  readonly resources?: readonly string[]
  /** The personal data that the domain stores: every column of its tables that names a user. */
  readonly personal?: PersonalData
  /**
   * Builds the services of the domain when a node starts.
   * @param services those that the domain uses, as `Pick<Services, 'plans' | 'workspaces'>`. Only services of domains
   *   that are listed before this one exist; the types of `src/registry/services.ts` refuse others. If an earlier
   *   domain needs something of this domain, this domain registers it with the earlier one.
   */
  readonly compose?: (foundation: Foundation, services: Services) => Composed
}

/** What the composition of a domain returns. */
export interface Composed {
  /** What the domain adds to `Services`. */
  readonly services: Partial<Services>
  /** Prepares the services. The node waits for it before it serves requests. */
  readonly start?: () => Promise<void>
  /** Ends timers and subscriptions. Domains close in the reverse order of the list. */
  readonly close?: () => Promise<void> | void
}

/** Declares a domain and keeps the types of its operations and services. */
export function domain<const D extends Domain>(declaration: D): D {
  return declaration
}
