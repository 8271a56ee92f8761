import { Migration } from '@mikro-orm/migrations'

/** How many watched the preview of a broadcast at the same time. */
export class Preview extends Migration {
  override up(): void {
    this.addSql('alter table stream_sessions add column peak_viewers integer not null default 0')
  }
}
