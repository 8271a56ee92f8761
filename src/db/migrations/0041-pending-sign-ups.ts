import { Migration } from '@mikro-orm/migrations'

/** Who signed up with an address that is not confirmed yet, and tries at its code from their network. */
export class PendingSignUps extends Migration {
  override up(): void {
    this.addSql(`
      create table pending_sign_ups (
        user_id uuid primary key references users (id) on delete cascade,
        network text not null,
        user_agent text not null,
        created_at timestamptz not null
      )`)
    this.addSql('alter table one_time_codes add column known_tries integer not null default 0')
  }
}
