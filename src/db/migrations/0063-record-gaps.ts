import { Migration } from '@mikro-orm/migrations'

/** What a recording does with an outage. */
export class RecordGaps extends Migration {
  override up(): void {
    this.addSql(`alter table streams add column record_gaps text not null default 'cut'`)
  }
}
