import { Migration } from '@mikro-orm/migrations'

/** When somebody was last seen at a socket. */
export class PresenceRecords extends Migration {
  override up(): void {
    this.addSql('create table user_presence (user_id uuid primary key, seen_at timestamptz not null)')
  }
}
