import { Migration } from '@mikro-orm/migrations'

/** Sessions are listed by id, which is the order of creation. */
export class SessionsById extends Migration {
  override up(): void {
    this.addSql('drop index sessions_by_user')
    this.addSql('create index sessions_by_user on sessions (user_id, id)')
  }
}
