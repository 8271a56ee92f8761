import { Migration } from '@mikro-orm/migrations'

/** In what other form a destination gets a stream. */
export class Rendering extends Migration {
  override up(): void {
    this.addSql('alter table stream_destinations add column rendering jsonb')
  }
}
