import { Migration } from '@mikro-orm/migrations'

/** Invitations are listed by id, which is the order of creation. */
export class InvitationsById extends Migration {
  override up(): void {
    this.addSql('drop index invitations_by_time')
    this.addSql('drop index invitations_by_email')
    this.addSql('create index invitations_by_workspace on invitations (workspace_id, id)')
    this.addSql(`create index invitations_by_email on invitations (email, id) where status = 'open'`)
  }
}
