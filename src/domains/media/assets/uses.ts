import type { Sql } from '../../../core/sql.ts'

/** Something that shows an asset. */
export interface AssetUse {
  readonly assetId: string
  readonly kind: string
  readonly id: string
  readonly title: string
  /** It still needs the file: a post that is scheduled, for example. */
  readonly scheduled: boolean
}

type FindUses = (sql: Sql, workspaceId: string, assetIds: readonly string[]) => Promise<readonly AssetUse[]>

/** Who uses assets: every domain that does says so here, and how to find out. */
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

/** Without the asset that it is told of. */
export function useView({ id, kind, scheduled, title }: AssetUse) {
  return { kind, _id: id, title, scheduled }
}
