import { Migration } from '@mikro-orm/migrations'

/** Jobs of queues that serve workspaces in turn wait in the outbox, in one line for each workspace. */
export class FairJobs extends Migration {
  override up(): void {
    this.addSql('alter table outbox add column line uuid')
    this.addSql('drop index outbox_due')
    this.addSql(`create index outbox_due on outbox (run_at) where state = 'waiting' and line is null`)
    this.addSql(
      `create index outbox_lines on outbox (queue, line, run_at) where state = 'waiting' and line is not null`,
    )
    this.addSql(`create index outbox_lines_due on outbox (run_at) where state = 'waiting' and line is not null`)
    this.addSql(`create index outbox_lines_given on outbox (queue) where state = 'queued' and line is not null`)
  }
}
