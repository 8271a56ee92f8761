import { p, type EntitySchemaWithMeta } from '@mikro-orm/core'
import type { Scope } from '../core/scope.ts'

/** A point in time, with its zone. Read as ISO 8601 text by prepared SQL, as `Date` by a unit of work. */
export const timestamp = () => p.datetime().columnType('timestamptz')

/** A list of scopes, empty by default. */
export const scopeList = () =>
  p
    .array<Scope>((text) => text as Scope)
    .columnType('text[]')
    .defaultRaw(`'{}'`)

/** What `defineEntity` returns, or the class that was set on it. */
// oxlint-disable-next-line typescript/no-explicit-any -- MikroORM infers the target through it
type AnyTarget = EntitySchemaWithMeta<string, string, any, any, any, any> | (new () => object)

interface ReferenceOptions {
  /** Name of the constraint. */
  readonly name: string
  /** What becomes of the row when the one it refers to is deleted. */
  readonly onDelete: 'cascade' | 'set null' | 'no action'
}

/**
 * A foreign key to a table whose primary key is one `id`. The property is named like the column (`workspaceId`) and
 * holds the id.
 */
export function references<const E extends AnyTarget>(target: E, { name, onDelete }: ReferenceOptions) {
  return p.manyToOne(target).mapToPk().deleteRule(onDelete).updateRule('no action').foreignKeyName(name).index(false)
}

/**
 * A foreign key of several columns. Their values are properties of their own (`workspaceId`, `userId`), declared beside
 * it; this adds the constraint alone.
 * @param columns in the order of the target's primary key
 */
export function referencesByColumns<const E extends AnyTarget>(
  target: E,
  columns: readonly [string, string, ...string[]],
  { name, onDelete }: ReferenceOptions,
) {
  return p
    .manyToOne(target)
    .joinColumns(...columns)
    .deleteRule(onDelete)
    .updateRule('no action')
    .foreignKeyName(name)
    .index(false)
}
