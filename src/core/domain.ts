import type { EntitySchema } from '@mikro-orm/postgresql'
import type { EventType } from './event.ts'
import type { AnyJob } from './job.ts'
import type { AnyOperation } from './operation.ts'
import type { AnySystemTurn } from './system-turn.ts'

/**
 * Everything that a domain adds to the service. Each domain exports one from its `domain.ts`; `src/registry` lists
 * them.
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
}

/** Declares a domain and keeps the types of its operations. */
export function domain<const D extends Domain>(declaration: D): D {
  return declaration
}
