import { Migration } from '@mikro-orm/migrations'

/** Which actors have a batch of which nobody may have heard, and from which event on. */
export class Unannounced extends Migration {
  override up(): void {
    this.addSql('alter table actor_fence add column unannounced_after bigint')
    // Each batch writes its row twice: room on the page keeps that from touching the index.
    this.addSql('alter table actor_fence set (fillfactor = 50)')
  }
}
