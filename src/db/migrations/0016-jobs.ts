import { Migration } from '@mikro-orm/migrations'

/** Work that must happen after a commit, what became of it, and when schedules are next due. */
export class Jobs extends Migration {
  override up(): void {
    this.addSql(`
      create table outbox (
        id uuid primary key,
        name text not null,
        queue text not null,
        workspace_id uuid,
        key text,
        data jsonb not null,
        state text not null,
        run_at timestamptz not null,
        attempts integer not null,
        added integer not null,
        attempt_id uuid,
        reason text,
        started_at timestamptz,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        constraint outbox_state check (state in ('waiting', 'queued', 'running', 'dead'))
      )`)
    this.addSql(`create index outbox_due on outbox (run_at) where state = 'waiting'`)
    this.addSql(`create index outbox_given on outbox (updated_at) where state in ('queued', 'running')`)
    this.addSql('create unique index outbox_key on outbox (name, key) where key is not null')
    this.addSql(`
      create table finished_jobs (
        id uuid primary key,
        name text not null,
        queue text not null,
        workspace_id uuid,
        attempts integer not null,
        run_at timestamptz not null,
        started_at timestamptz not null,
        finished_at timestamptz not null,
        created_at timestamptz not null
      )`)
    this.addSql('create index finished_jobs_by_time on finished_jobs (finished_at)')
    this.addSql(`
      create table job_schedules (
        name text primary key,
        cron text not null,
        next_at timestamptz not null,
        updated_at timestamptz not null
      )`)
  }
}
