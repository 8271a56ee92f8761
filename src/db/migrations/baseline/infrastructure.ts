/** Turns, replies kept for repeated requests, jobs and mail. */
export const infrastructure = [
  // Trigrams of titles, in one index with an id. PostgreSQL lets every role that may create a schema add them.
  'create extension if not exists pg_trgm',
  'create extension if not exists btree_gist',
  `
    create table actor_fence (
      key text primary key,
      epoch bigint not null default 1,
      seq bigint not null default 0,
      batch uuid,
      unannounced_after bigint
    )`,
  // Each batch updates its row twice. Free space on the page keeps these updates out of the index.
  'alter table actor_fence set (fillfactor = 50)',
  `
    create table workspace_events (
      workspace_id uuid not null,
      seq bigint not null,
      type text not null,
      data json not null,
      at timestamptz not null,
      channel_id uuid,
      user_id uuid,
      primary key (workspace_id, seq)
    )`,
  // An event is written with each turn and rarely read, so data below 8 KB is not compressed (`npm run bench:posts`).
  'alter table workspace_events set (toast_tuple_target = 8160)',
  `
    create table turn_outcomes (
      actor text not null,
      at timestamptz not null,
      commands uuid[] not null,
      outcomes bytea not null,
      primary key (actor, at)
    )`,
  // Sealed bytes do not compress, so PostgreSQL need not try.
  'alter table turn_outcomes alter column outcomes set storage external',
  // Rows live for two minutes. Dead ones are vacuumed before they are a fifth of a busy table.
  'alter table turn_outcomes set (autovacuum_vacuum_scale_factor = 0.05)',
  `
    create table audit_log (
      id uuid primary key,
      workspace_id uuid not null,
      actor_id uuid,
      actor_via text not null,
      action text not null,
      target_kind text,
      target_id text,
      details jsonb,
      remote_address text not null,
      user_agent text not null,
      request_id text not null,
      created_at timestamptz not null,
      api_key_id uuid
    )`,
  'create index audit_log_by_actor on audit_log (actor_id, id)',
  'create index audit_log_by_action on audit_log (workspace_id, action, created_at desc, id desc)',
  'create index audit_log_of_actor on audit_log (workspace_id, actor_id, created_at desc, id desc)',
  'create index audit_log_by_time on audit_log (workspace_id, created_at desc, id desc)',
  `
    create table idempotency_keys (
      principal text not null,
      operation text not null,
      key text not null,
      fingerprint text not null,
      status integer,
      reply text,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      primary key (principal, operation, key)
    )`,
  'create index idempotency_keys_by_expiry on idempotency_keys (expires_at)',
  `
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
      line uuid,
      constraint outbox_state check (state in ('waiting', 'held', 'queued', 'running', 'dead'))
    )`,
  `create index outbox_given on outbox (updated_at) where state in ('queued', 'running')`,
  'create unique index outbox_key on outbox (name, key) where key is not null',
  `create index outbox_due on outbox (run_at) where (state = 'waiting') and (line is null)`,
  `create index outbox_lines on outbox (queue, line, run_at) where (state = 'waiting') and (line is not null)`,
  `create index outbox_lines_due on outbox (run_at) where (state = 'waiting') and (line is not null)`,
  'create index outbox_by_name on outbox (name, id)',
  `create index outbox_open on outbox (queue, run_at) where state in ('waiting', 'queued')`,
  `create index outbox_parked on outbox (queue, state, updated_at) where state in ('held', 'dead')`,
  `create index outbox_held on outbox (name) where state = 'held'`,
  `create index outbox_lines_given on outbox (queue) where (state = 'queued') and (line is not null)`,
  `
    create table job_schedules (
      name text primary key,
      cron text not null,
      next_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  `
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
    )`,
  `
    create table finished_job_counts (
      start_at timestamptz not null,
      queue text not null,
      job_count integer not null,
      primary key (start_at, queue)
    )`,
  'create index finished_jobs_by_time on finished_jobs (finished_at)',
  'create index finished_jobs_by_name on finished_jobs (name, id)',
  'create index finished_jobs_by_queue on finished_jobs (queue, finished_at)',
  'create index finished_jobs_by_workspace on finished_jobs (workspace_id, id)',
  `
    create table mail_log (
      id uuid primary key,
      kind text not null,
      recipient text not null,
      account_id uuid,
      workspace_id uuid,
      sent_at timestamptz not null
    )`,
  'create index mail_log_by_person on mail_log (account_id, id)',
  'create index mail_log_by_recipient on mail_log (recipient, sent_at)',
  'create index mail_log_by_account on mail_log (account_id, sent_at)',
  'create index mail_log_by_workspace on mail_log (workspace_id, sent_at)',
  'create index mail_log_by_age on mail_log (sent_at)',
  `
    create table service_switches (
      key text primary key,
      enabled boolean not null,
      updated_at timestamptz not null
    )`,
  `
    create table worker_requests (
      nonce text primary key,
      expires_at timestamptz not null
    )`,
  'create index worker_requests_by_expiry on worker_requests (expires_at)',
  `
    create table worker_uploads (
      id uuid primary key,
      owner_id uuid not null,
      name text not null,
      size bigint not null,
      sha256 text not null,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )`,
  'create index worker_uploads_by_expiry on worker_uploads (expires_at)',
]
