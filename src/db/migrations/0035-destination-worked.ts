import { Migration } from '@mikro-orm/migrations'

/** Remembers which destinations have taken media, so that a refusal after a crash is known to be temporary. */
export class DestinationWorked extends Migration {
  override up(): void {
    this.addSql('alter table rtmp_destinations add column worked_at timestamptz')
  }
}
