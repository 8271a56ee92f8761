import { UnderscoreNamingStrategy } from '@mikro-orm/postgresql'

/**
 * `createdAt` maps to the column `created_at`. A reference named like its column (`workspaceId`) gets no second `_id`.
 */
export class ColumnNames extends UnderscoreNamingStrategy {
  override joinKeyColumnName(property: string, referencedColumn?: string, composite = false): string {
    if (property.endsWith('Id') && !composite) return this.propertyToColumnName(property)
    return super.joinKeyColumnName(property, referencedColumn, composite)
  }
}

const names = new ColumnNames()

/** The column of a property: `createdAt` → `created_at`. */
export function columnName(property: string): string {
  return names.propertyToColumnName(property)
}
