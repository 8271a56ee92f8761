import type { Sql } from '../../../core/sql.ts'

/** A resource that uses an asset. */
export interface AssetUse {
  readonly assetId: string
  readonly kind: string
  readonly id: string
  readonly title: string
  /** Whether the resource still needs the file, such as a scheduled post. */
  readonly scheduled: boolean
  /** The versions of the resource that use the asset, newest first. Absent for resources without versions. */
  readonly versionNumbers?: readonly number[]
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
export function useView({ id, kind, scheduled, title, versionNumbers }: AssetUse) {
  return { kind, _id: id, title, scheduled, versionNumbers: versionNumbers === undefined ? null : [...versionNumbers] }
}

/** A sentence that names the resources that use an asset. Empty if there are none. */
export function useWarning(uses: readonly ReturnType<typeof useView>[]): string {
  const [first, ...others] = uses
  if (first === undefined) return ''
  const more = others.length === 0 ? 'uses' : `and ${others.length} more use`
  return ` The ${first.kind.replaceAll('_', ' ')} “${first.title}” ${more} it.`
}
