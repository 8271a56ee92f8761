import { p, type EntitySchemaWithMeta } from '@mikro-orm/core'
import type { Scope } from '../core/scope.ts'

/** A timestamp with time zone. Prepared SQL reads it as ISO 8601 text, a unit of work as `Date`. */
export const timestamp = () => p.datetime().columnType('timestamptz')

/** A list of scopes, empty by default. */
export const scopeList = () =>
  p
    .array<Scope>((text) => text as Scope)
    .columnType('text[]')
    .defaultRaw(`'{}'`)

/** The result of `defineEntity`, or the class that was set on it. */
// oxlint-disable-next-line typescript/no-explicit-any -- MikroORM infers the target through it
type AnyTarget = EntitySchemaWithMeta<string, string, any, any, any, any> | (new () => object)

interface ReferenceOptions {
  /** Name of the constraint. */
  readonly name: string
  /** What happens to the row when the referenced row is deleted. */
  readonly onDelete: 'cascade' | 'set null' | 'no action'
}

/**
 * A foreign key to a table whose primary key is a single `id`. The property is named like the column (`workspaceId`)
 * and holds the id.
 */
export function references<const E extends AnyTarget>(target: E, { name, onDelete }: ReferenceOptions) {
  return p.manyToOne(target).mapToPk().deleteRule(onDelete).updateRule('no action').foreignKeyName(name).index(false)
}

/** A foreign key that is the primary key of its table, or the first part of it. See `references`. */
export function keyReferences<const E extends AnyTarget>(target: E, { name, onDelete }: ReferenceOptions) {
  return p
    .manyToOne(target)
    .mapToPk()
    .primary()
    .deleteRule(onDelete)
    .updateRule('no action')
    .foreignKeyName(name)
    .index(false)
}

/**
 * A foreign key of several columns. Their values are separate properties (`workspaceId`, `userId`), declared beside it;
 * this adds only the constraint.
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
