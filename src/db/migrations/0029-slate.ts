import { Migration } from '@mikro-orm/migrations'

/** What destinations see while the publisher is away, and how long it may be. */
export class Slate extends Migration {
  override up(): void {
    this.addSql('alter table streams add column slate jsonb')
    this.addSql('alter table streams add column hold_seconds integer not null default 60')
  }
}
