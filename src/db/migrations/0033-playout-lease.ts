import { Migration } from '@mikro-orm/migrations'

/** When the media node that plays a broadcast was last there: whoever takes it over has to know that it is not. */
export class PlayoutLease extends Migration {
  override up(): void {
    this.addSql('alter table stream_broadcasts add column seen_at timestamptz')
  }
}
