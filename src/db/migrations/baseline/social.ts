/** Accounts at social platforms, their credentials, and sign-ins. */
export const social = [
  `
    create table encryption_keys (
      id uuid primary key,
      sealed text not null,
      created_at timestamptz not null
    )`,
  `
    create table platform_apps (
      platform text not null,
      server text not null,
      redirect_uri text not null,
      key_id uuid not null,
      data_key_sealed text not null,
      sealed text not null,
      created_at timestamptz not null,
      primary key (platform, server, redirect_uri)
    )`,
  `
    create table social_accounts (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      platform text not null,
      remote_id text not null,
      login_id uuid,
      shares_login boolean not null default false,
      name text not null,
      handle text,
      avatar_url text,
      url text,
      kind text not null,
      status text not null,
      status_reason text,
      broken_reason text,
      scopes text[],
      missing_scopes text[] not null default '{}',
      expires_at timestamptz,
      refresh_at timestamptz,
      sandbox boolean not null default false,
      reminded_days integer,
      connected_by uuid not null,
      connected_at timestamptz not null,
      checked_at timestamptz not null,
      archived_at timestamptz,
      archived_by_plan boolean not null default false,
      suspended_at timestamptz,
      removed_at timestamptz,
      view json not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint social_accounts_remote_key unique (workspace_id, platform, remote_id)
    )`,
  'create index social_accounts_by_connector on social_accounts (connected_by, id)',
  'create index social_accounts_by_workspace on social_accounts (workspace_id, id)',
  'create index social_accounts_by_remote on social_accounts (platform, remote_id)',
  'create index social_accounts_by_login on social_accounts (login_id) where login_id is not null',
  'create index social_accounts_by_refresh on social_accounts (refresh_at) where refresh_at is not null',
  'create index social_accounts_removed on social_accounts (removed_at) where removed_at is not null',
  `
    create table social_credentials (
      account_id uuid primary key references social_accounts (id) on delete cascade,
      key_id uuid not null,
      data_key_sealed text not null,
      sealed text not null,
      client_key_id uuid,
      version integer not null default 1,
      lease_token uuid,
      lease_until timestamptz,
      updated_at timestamptz not null
    )`,
  'create index social_credentials_by_key on social_credentials (key_id)',
  'create index social_credentials_by_client_key on social_credentials (client_key_id) where client_key_id is not null',
  `
    create table platform_keys (
      id uuid primary key,
      platform text not null,
      key_id uuid not null,
      data_key_sealed text not null,
      sealed text not null,
      created_at timestamptz not null
    )`,
  'create index platform_keys_by_platform on platform_keys (platform, id)',
  `
    create table social_account_history (
      id uuid primary key,
      account_id uuid not null references social_accounts (id) on delete cascade,
      status text not null,
      reason text,
      actor_id uuid,
      at timestamptz not null
    )`,
  'create index social_account_history_by_actor on social_account_history (actor_id, id)',
  'create index social_account_history_by_account on social_account_history (account_id, id)',
  `
    create table social_account_reports (
      account_id uuid primary key references social_accounts (id) on delete cascade,
      capabilities jsonb,
      capabilities_at timestamptz,
      fresh_until timestamptz,
      error text,
      failed_at timestamptz,
      budgets jsonb not null default '{}'
    )`,
  `
    create table social_sign_ins (
      id uuid primary key,
      state_hash text not null constraint social_sign_ins_state_key unique,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      user_id uuid not null,
      platform text not null,
      browser_hash text not null,
      secrets_sealed text not null,
      redirect_uri text not null,
      return_to text,
      expires_at timestamptz not null,
      used_at timestamptz,
      created_at timestamptz not null
    )`,
  'create index social_sign_ins_by_person on social_sign_ins (user_id)',
  'create index social_sign_ins_by_expiry on social_sign_ins (expires_at)',
  'create index social_sign_ins_by_workspace on social_sign_ins (workspace_id)',
]
