/** Users, how they sign in, and their plans. */
export const identity = [
  `
    create table users (
      id uuid primary key,
      email text not null,
      email_verified boolean not null default false,
      password_hash text,
      name text not null default '',
      bio text not null default '',
      timezone text not null default 'UTC',
      locale text not null default 'en',
      company text not null default '',
      is_admin boolean not null default false,
      onboarding_step text,
      onboarding_completed_at timestamptz,
      settings jsonb not null default '{}',
      settings_version integer not null default 1,
      credentials_changed_at timestamptz,
      version integer not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      picture_id uuid
    )`,
  'create unique index users_email_key on users (email)',
  'create index users_by_credentials_change on users (credentials_changed_at)',
  'create unique index users_by_picture on users (picture_id) where picture_id is not null',
  `
    create table subscriptions (
      user_id uuid primary key references users (id) on delete cascade,
      plan text not null,
      status text not null,
      anchor_at timestamptz not null,
      term text not null default 'month',
      period_start timestamptz,
      period_end timestamptz,
      trial_ends_at timestamptz,
      remind_at timestamptz,
      due_at timestamptz,
      failed_since timestamptz,
      next_plan text,
      keep_account_ids uuid[],
      extra_accounts integer not null default 0,
      extra_removal integer not null default 0,
      version integer not null default 1,
      failed_charges integer not null default 0,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint subscriptions_extra_accounts check (extra_accounts >= 0),
      constraint subscriptions_extra_removal check (extra_removal >= 0 and extra_removal <= extra_accounts)
    )`,
  'create index subscriptions_by_due on subscriptions (due_at) where due_at is not null',
  `
    create table plan_uses (
      user_id uuid not null references users (id) on delete cascade,
      name text not null,
      month date not null,
      used integer not null,
      primary key (user_id, name, month)
    )`,
  `
    create table identities (
      id uuid primary key,
      user_id uuid not null references users (id) on delete cascade,
      provider text not null,
      issuer text not null,
      subject text not null,
      email text,
      created_at timestamptz not null,
      last_used_at timestamptz not null
    )`,
  'create unique index identities_subject_key on identities (provider, issuer, subject)',
  'create index identities_by_user on identities (user_id, id)',
  `
    create table sessions (
      id uuid primary key,
      user_id uuid not null references users (id) on delete cascade,
      secret text not null,
      generation integer not null default 1,
      rotated_at timestamptz not null,
      method text not null,
      second_factor text,
      remote_address text not null,
      user_agent text not null,
      created_at timestamptz not null,
      last_used_at timestamptz not null,
      expires_at timestamptz not null,
      revoked_at timestamptz,
      revoked_because text
    )`,
  'create index sessions_by_revocation on sessions (revoked_at)',
  'create index sessions_by_expiry on sessions (expires_at)',
  'create index sessions_by_user on sessions (user_id, id)',
  `
    create table pending_sign_ups (
      user_id uuid primary key references users (id) on delete cascade,
      network text not null,
      user_agent text not null,
      created_at timestamptz not null
    )`,
  `
    create table one_time_codes (
      user_id uuid primary key references users (id) on delete cascade,
      code_hash text not null,
      tries integer not null default 0,
      sent_at timestamptz not null,
      expires_at timestamptz not null,
      known_tries integer not null default 0
    )`,
  `
    create table totps (
      user_id uuid primary key references users (id) on delete cascade,
      secret_sealed text not null,
      enrolled_at timestamptz not null,
      confirmed_at timestamptz,
      last_step integer not null default 0
    )`,
  `
    create table recovery_codes (
      code_hash text primary key,
      user_id uuid not null references users (id) on delete cascade,
      created_at timestamptz not null
    )`,
  'create index recovery_codes_by_user on recovery_codes (user_id)',
  `
    create table passkeys (
      id uuid primary key,
      user_id uuid not null references users (id) on delete cascade,
      credential_id text not null constraint passkeys_credential_id_key unique,
      public_key text not null,
      counter bigint not null,
      transports text[] not null,
      backed_up boolean not null,
      name text not null,
      version integer not null default 1,
      last_used_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index passkeys_by_user on passkeys (user_id, id)',
  `
    create table password_resets (
      token_hash text primary key,
      user_id uuid not null references users (id) on delete cascade,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )`,
  'create index password_resets_by_user on password_resets (user_id, created_at)',
  `
    create table login_throttles (
      key text primary key,
      failures integer not null,
      last_failed_at timestamptz not null,
      locked_until timestamptz
    )`,
  'create index login_throttles_by_age on login_throttles (last_failed_at)',
  `
    create table used_nonces (
      digest text primary key,
      expires_at timestamptz not null
    )`,
  'create index used_nonces_by_expiry on used_nonces (expires_at)',
  `
    create table download_links (
      token_hash text primary key,
      user_id uuid not null references users (id) on delete cascade,
      session_id uuid,
      api_key_id uuid,
      target_hash text not null,
      expires_at timestamptz not null
    )`,
  'create index download_links_by_user on download_links (user_id, expires_at)',
  'create index download_links_by_expiry on download_links (expires_at)',
  `
    create table api_keys (
      id uuid primary key,
      user_id uuid not null references users (id) on delete cascade,
      name text not null,
      key_hash text not null,
      prefix text not null,
      is_default boolean not null default false,
      scopes text[],
      workspace_ids uuid[],
      expires_at timestamptz,
      last_used_at timestamptz,
      last_used_address text,
      version integer not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create unique index api_keys_hash_key on api_keys (key_hash)',
  'create unique index api_keys_default_key on api_keys (user_id) where is_default',
  'create index api_keys_by_user on api_keys (user_id, id)',
  `
    create table user_presence (
      user_id uuid primary key,
      seen_at timestamptz not null
    )`,
  `
    create table account_deletions (
      user_id uuid primary key references users (id) on delete cascade,
      requested_at timestamptz not null,
      delete_at timestamptz not null,
      deleted_at timestamptz
    )`,
  'create index account_deletions_by_time on account_deletions (delete_at)',
]
