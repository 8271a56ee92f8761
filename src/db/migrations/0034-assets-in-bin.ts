import { Migration } from '@mikro-orm/migrations'

/** What a workspace has in its bin is listed as its library is. */
export class AssetsInBin extends Migration {
  override up(): void {
    this.addSql(
      'create index assets_in_bin_by_time on assets (workspace_id, created_at desc, id desc) where deleted_at is not null',
    )
  }
}
