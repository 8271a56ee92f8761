import { Migration } from '@mikro-orm/migrations'

/** Counts mails to addresses that somebody typed. */
export class MailLogTable extends Migration {
  override up(): void {
    this.addSql(`
      create table mail_log (
        id uuid primary key,
        kind text not null,
        recipient text not null,
        account_id uuid,
        workspace_id uuid,
        sent_at timestamptz not null
      )`)
    this.addSql('create index mail_log_by_recipient on mail_log (recipient, sent_at)')
    this.addSql('create index mail_log_by_account on mail_log (account_id, sent_at)')
    this.addSql('create index mail_log_by_workspace on mail_log (workspace_id, sent_at)')
    this.addSql('create index mail_log_by_age on mail_log (sent_at)')
  }
}
