import type { EntitySchema } from '@mikro-orm/postgresql'
import type { EventType } from './event.ts'
import type { AnyJob } from './job.ts'
import type { AnyOperation } from './operation.ts'
import type { AnySystemTurn } from './system-turn.ts'

/** Everything that a domain adds to the service. Its folder has one, in `domain.ts`, and `src/registry` lists them. */
export interface Domain {
  /**
   * The tag of its operations in the API document, and the name under which an administrator switches them off.
   * Domains that are switched together share a name.
   */
  readonly name: string
  /** What its operations are about, for the documentation and the command line. One of those that share a name says it. */
  readonly about?: string
  readonly operations?: Readonly<Record<string, AnyOperation>>
  readonly events?: Readonly<Record<string, EventType>>
  /** Jobs and schedules. */
  readonly jobs?: Readonly<Record<string, AnyJob>>
  /** Turns that the service asks for by itself. */
  readonly turns?: readonly AnySystemTurn[]
  readonly entities?: readonly EntitySchema[]
  /**
   * Tables of the domain with `id` and `workspace_id` whose rows operations name in a path: `owner('streams')` finds the
   * workspace of a request by them.
   */
  readonly resources?: readonly string[]
}

/** Declares a domain and keeps the types of its operations. */
export function domain<const D extends Domain>(declaration: D): D {
  return declaration
}
