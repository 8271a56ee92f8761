import { Migration } from '@mikro-orm/migrations'

/** The media node that a stream's publisher is pointed to. */
export class Placement extends Migration {
  override up(): void {
    this.addSql('alter table streams add column media_node uuid')
  }
}
