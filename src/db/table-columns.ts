import { JsonType } from '@mikro-orm/core'
import { columnName } from './naming.ts'
import type { AnyEntity } from './row.ts'

/** A column as an entity declares it. */
export interface Column {
  readonly property: string
  readonly column: string
  readonly json: boolean
  readonly time: boolean
}

/** The columns that an entity declares, before MikroORM's discovery. */
export function columnsOf(entity: AnyEntity): Column[] {
  const properties = entity.meta.properties as Record<string, ColumnMeta>
  return Object.entries(properties)
    .filter(([, meta]) => meta.persist !== false && (meta.kind === undefined || meta.kind === 'scalar' || meta.mapToPk))
    .map(([property, meta]) => ({
      property,
      column: meta.fieldName ?? meta.joinColumn ?? meta.fieldNames?.[0] ?? columnName(property),
      json: meta.type === JsonType,
      time: meta.columnType === 'timestamptz' || meta.columnTypes?.[0] === 'timestamptz',
    }))
}

interface ColumnMeta {
  readonly persist?: boolean
  readonly kind?: string
  readonly mapToPk?: boolean
  readonly fieldName?: string
  readonly fieldNames?: readonly string[]
  readonly joinColumn?: string
  readonly columnType?: string
  readonly columnTypes?: readonly string[]
  readonly type?: unknown
}
