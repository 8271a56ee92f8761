import type { Sql } from '../../../core/sql.ts'

/** A resource that uses an asset. */
export interface AssetUse {
  readonly assetId: string
  readonly kind: string
  readonly id: string
  readonly title: string
  /** Whether the resource still needs the file, such as a scheduled post. */
  readonly scheduled: boolean
}

type FindUses = (sql: Sql, workspaceId: string, assetIds: readonly string[]) => Promise<readonly AssetUse[]>

/** Finds the resources that use assets. Each domain that uses assets registers a function. */
export class AssetUses {
  readonly #finders: FindUses[] = []

  register(find: FindUses): void {
    this.#finders.push(find)
  }

  async of(sql: Sql, workspaceId: string, assetIds: readonly string[]): Promise<Map<string, AssetUse[]>> {
    const found = await Promise.all(this.#finders.map((find) => find(sql, workspaceId, assetIds)))
    return Map.groupBy(found.flat(), (use) => use.assetId)
  }
}

/** The use as the API shows it in its asset. */
export function useView({ id, kind, scheduled, title }: AssetUse) {
  return { kind, _id: id, title, scheduled }
}
