import { p, type EntitySchemaWithMeta } from '@mikro-orm/core'

/** A point in time, with its zone. Read as ISO 8601 text by prepared SQL, as `Date` by a unit of work. */
export const timestamp = () => p.datetime().columnType('timestamptz')

// oxlint-disable-next-line typescript/no-explicit-any -- MikroORM infers the target through it
type AnyTarget = EntitySchemaWithMeta<string, string, any, any, any, any>

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
