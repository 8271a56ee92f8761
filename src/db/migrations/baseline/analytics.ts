/** Figures of accounts and posts over time. */
export const analytics = [
  `
    create table analytics_accounts (
      account_id uuid primary key references social_accounts (id) on delete cascade,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      platform text not null,
      zone text not null,
      started_at timestamptz,
      collected_at timestamptz,
      asked_at timestamptz,
      next_at timestamptz not null,
      failure_count integer not null default 0,
      import_cursor text,
      imported_at timestamptz,
      kept_since timestamptz,
      updated_at timestamptz not null
    )`,
  'create index analytics_accounts_due on analytics_accounts (next_at)',
  'create index analytics_accounts_by_workspace on analytics_accounts (workspace_id)',
  `
    create table analytics_retention (
      workspace_id uuid primary key references workspaces (id) on delete cascade,
      days integer not null,
      next_days integer,
      shortens_at timestamptz
    )`,
  `
    create table analytics_gaps (
      id uuid primary key,
      account_id uuid not null references social_accounts (id) on delete cascade,
      code text not null,
      message text not null,
      started_at timestamptz not null,
      ended_at timestamptz
    )`,
  'create index analytics_gaps_by_account on analytics_gaps (account_id, started_at)',
  `
    create table analytics_content (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      account_id uuid not null references social_accounts (id) on delete cascade,
      platform text not null,
      remote_id text not null,
      remote jsonb not null,
      origin text not null,
      post_id uuid,
      target_id uuid,
      text text not null,
      url text,
      picture_id uuid,
      published_at timestamptz not null,
      views double precision,
      reach double precision,
      likes double precision,
      comments double precision,
      shares double precision,
      saves double precision,
      clicks double precision,
      watch_seconds double precision,
      collected_at timestamptz,
      next_at timestamptz,
      gone_reason text,
      deleted_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint analytics_content_remote_key unique (account_id, remote_id)
    )`,
  'create index analytics_content_by_time on analytics_content (workspace_id, published_at, id) where deleted_at is null',
  'create index analytics_content_by_workspace on analytics_content (workspace_id)',
  'create index analytics_content_due on analytics_content (account_id, next_at) where deleted_at is null and next_at is not null',
  'create index analytics_content_by_post on analytics_content (post_id) where post_id is not null',
  'create index analytics_content_by_picture on analytics_content (picture_id) where picture_id is not null',
  `
    create table analytics_series (
      id bigserial primary key,
      account_id uuid not null references social_accounts (id) on delete cascade,
      content_id uuid references analytics_content (id) on delete cascade,
      subject_id uuid not null,
      figure text not null,
      from_zero boolean not null,
      constraint analytics_series_figure_key unique (subject_id, figure)
    )`,
  'create index analytics_series_by_account on analytics_series (account_id, figure)',
  'create index analytics_series_by_content on analytics_series (content_id) where content_id is not null',
  // Partitions are made when the service runs, ahead of their months.
  `
    create table analytics_samples (
      series_id bigint not null references analytics_series (id) on delete cascade,
      at timestamptz not null,
      received_at timestamptz not null,
      value double precision not null,
      source text not null,
      primary key (series_id, at, received_at)
    ) partition by range (at)`,
  `
    create table analytics_days (
      series_id bigint not null references analytics_series (id) on delete cascade,
      day integer not null,
      value double precision not null,
      gained double precision,
      primary key (series_id, day)
    )`,
  `
    create table analytics_account_days (
      account_id uuid not null references social_accounts (id) on delete cascade,
      figure text not null,
      day integer not null,
      gained double precision not null,
      content_count integer not null,
      primary key (account_id, figure, day)
    )`,
  `
    create table analytics_account_periods (
      account_id uuid not null references social_accounts (id) on delete cascade,
      figure text not null,
      unit text not null,
      first integer not null,
      value double precision,
      gained double precision,
      primary key (account_id, figure, unit, first)
    )`,
  `
    create table analytics_audience (
      account_id uuid not null references social_accounts (id) on delete cascade,
      dimension text not null,
      at timestamptz not null,
      groups jsonb not null,
      primary key (account_id, dimension, at)
    )`,
  `
    create table report_brandings (
      workspace_id uuid primary key references workspaces (id) on delete cascade,
      logo_asset_id uuid,
      accent_color text,
      company_name text,
      website text,
      link_domain text,
      footer_text text,
      updated_at timestamptz not null
    )`,
  `
    create table report_schedules (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      name text not null,
      interval text not null,
      weekday text not null,
      month_day integer not null,
      time text not null,
      zone text not null,
      account_ids uuid[],
      format text not null,
      language text not null,
      channel_ids uuid[] not null,
      created_by uuid not null,
      reader_scopes text[],
      paused_reason text,
      next_at timestamptz,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index report_schedules_by_creator on report_schedules (created_by, id)',
  'create index report_schedules_by_workspace on report_schedules (workspace_id, id)',
  'create index report_schedules_due on report_schedules (next_at) where next_at is not null',
  `
    create table report_recipients (
      id uuid primary key,
      schedule_id uuid not null references report_schedules (id) on delete cascade,
      email text not null,
      status text not null,
      created_at timestamptz not null,
      constraint report_recipients_email_key unique (schedule_id, email)
    )`,
  `
    create table reports (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      schedule_id uuid references report_schedules (id) on delete set null,
      due_at timestamptz,
      created_by uuid not null,
      reader_scopes text[],
      from_day text not null,
      to_day text not null,
      account_ids uuid[],
      format text not null,
      language text not null,
      status text not null,
      percent integer not null,
      job_id uuid,
      error text,
      file_id uuid,
      size integer,
      summary jsonb not null,
      expires_at timestamptz not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint reports_due_key unique (schedule_id, due_at)
    )`,
  'create index reports_by_creator on reports (created_by, id)',
  'create index reports_by_workspace on reports (workspace_id, id)',
  'create index reports_expiring on reports (expires_at)',
  "create index reports_open on reports (updated_at) where status in ('waiting', 'running')",
  `
    create table report_deliveries (
      id uuid primary key,
      report_id uuid not null references reports (id) on delete cascade,
      address_id uuid references report_recipients (id) on delete set null,
      email text,
      channel_id uuid,
      status text not null,
      error text,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index report_deliveries_by_report on report_deliveries (report_id)',
  'create index report_deliveries_by_address on report_deliveries (address_id)',
]
