import { Migration } from '@mikro-orm/migrations'

/** People and how they prove who they are. Secrets are stored as digests only, except what a session's MAC needs. */
export class People extends Migration {
  override up(): void {
    this.addSql(`
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
        picture_url text,
        is_admin boolean not null default false,
        onboarding_step text,
        onboarding_completed_at timestamptz,
        settings jsonb not null default '{}',
        settings_version integer not null default 1,
        api_key_hash text,
        api_key_prefix text,
        credentials_changed_at timestamptz,
        version integer not null default 1,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`)
    this.addSql('create unique index users_email_key on users (email)')
    this.addSql('create unique index users_api_key_hash_key on users (api_key_hash)')
    this.addSql('create index users_by_credentials_change on users (credentials_changed_at)')
    this.addSql(`
      create table identities (
        id uuid primary key,
        user_id uuid not null references users (id) on delete cascade,
        provider text not null,
        issuer text not null,
        subject text not null,
        email text,
        created_at timestamptz not null,
        last_used_at timestamptz not null
      )`)
    this.addSql('create unique index identities_subject_key on identities (provider, issuer, subject)')
    this.addSql('create index identities_by_user on identities (user_id)')
    this.addSql(`
      create table sessions (
        id uuid primary key,
        user_id uuid not null references users (id) on delete cascade,
        secret text not null,
        generation integer not null default 1,
        rotated_at timestamptz not null,
        method text not null,
        remote_address text not null,
        user_agent text not null,
        created_at timestamptz not null,
        last_used_at timestamptz not null,
        expires_at timestamptz not null,
        revoked_at timestamptz,
        revoked_because text
      )`)
    this.addSql('create index sessions_by_user on sessions (user_id, created_at desc, id desc)')
    this.addSql('create index sessions_by_revocation on sessions (revoked_at)')
    this.addSql('create index sessions_by_expiry on sessions (expires_at)')
    this.addSql(`
      create table one_time_codes (
        user_id uuid primary key references users (id) on delete cascade,
        code_hash text not null,
        tries integer not null default 0,
        sent_at timestamptz not null,
        expires_at timestamptz not null
      )`)
    this.addSql(`
      create table password_resets (
        token_hash text primary key,
        user_id uuid not null references users (id) on delete cascade,
        created_at timestamptz not null,
        expires_at timestamptz not null
      )`)
    this.addSql('create index password_resets_by_user on password_resets (user_id, created_at)')
    this.addSql(`
      create table login_throttles (
        key text primary key,
        failures integer not null,
        last_failed_at timestamptz not null,
        locked_until timestamptz
      )`)
    this.addSql('create index login_throttles_by_age on login_throttles (last_failed_at)')
    this.addSql(`
      create table used_nonces (
        digest text primary key,
        expires_at timestamptz not null
      )`)
    this.addSql('create index used_nonces_by_expiry on used_nonces (expires_at)')
  }
}
