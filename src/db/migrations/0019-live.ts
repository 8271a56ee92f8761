import { Migration } from '@mikro-orm/migrations'

/** Destinations that name their platform, and a second ingest key for each stream. */
export class Live extends Migration {
  override up(): void {
    this.addSql('alter table rtmp_destinations add column platform text')
    // A stream that was made before has none until it is armed again.
    this.addSql('alter table streams add column backup_key_hash text, add column backup_key_sealed text')
  }
}
