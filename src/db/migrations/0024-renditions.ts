import { Migration } from '@mikro-orm/migrations'

/** Renditions are ordered: each has the job that makes it, and the same of an asset is made once. */
export class Renditions extends Migration {
  override up(): void {
    this.addSql('alter table asset_renditions add column job_id uuid')
    this.addSql('create unique index asset_renditions_spec_key on asset_renditions (asset_id, spec)')
    this.addSql('drop index asset_renditions_by_asset')
  }
}
