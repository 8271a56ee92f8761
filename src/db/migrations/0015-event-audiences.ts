import { Migration } from '@mikro-orm/migrations'

/** Events that only the members of a private channel, or one user, may see. */
export class EventAudiences extends Migration {
  override up(): void {
    this.addSql('alter table workspace_events add column channel_id uuid, add column user_id uuid')
  }
}
