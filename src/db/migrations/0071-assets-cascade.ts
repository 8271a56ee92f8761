import { Migration } from '@mikro-orm/migrations'

/** Rows of the media library are deleted with their workspace, and renditions with their asset. Lists follow the id. */
export class AssetsCascade extends Migration {
  override up(): void {
    for (const table of [
      'asset_folders',
      'asset_files',
      'assets',
      'asset_renditions',
      'uploads',
      'storage_reservations',
    ]) {
      this.addSql(`delete from ${table} where workspace_id not in (select id from workspaces)`)
      this.addSql(`alter table ${table} add constraint ${table}_workspace_id_fkey
        foreign key (workspace_id) references workspaces (id) on delete cascade`)
    }
    this.addSql('delete from asset_renditions where asset_id not in (select id from assets)')
    this.addSql(`alter table asset_renditions add constraint asset_renditions_asset_id_fkey
      foreign key (asset_id) references assets (id) on delete cascade`)
    this.addSql('update assets set folder_id = null where folder_id not in (select id from asset_folders)')
    this.addSql(`alter table assets add constraint assets_folder_id_fkey
      foreign key (folder_id) references asset_folders (id) on delete set null`)
    this.addSql('drop index assets_by_time')
    this.addSql('create index assets_by_id on assets (workspace_id, id) where deleted_at is null')
    this.addSql('drop index assets_in_bin_by_time')
    this.addSql('create index assets_in_bin_by_id on assets (workspace_id, id) where deleted_at is not null')
    this.addSql('drop index uploads_by_time')
    this.addSql('create index uploads_by_workspace on uploads (workspace_id, id)')
  }
}
