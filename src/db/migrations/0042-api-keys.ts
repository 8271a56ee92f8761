import { Migration } from '@mikro-orm/migrations'

/** Several API keys a user, each with what it may do. The key of before becomes the default one. */
export class ApiKeys extends Migration {
  override up(): void {
    this.addSql(`
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
      )`)
    this.addSql('create unique index api_keys_hash_key on api_keys (key_hash)')
    this.addSql('create unique index api_keys_default_key on api_keys (user_id) where is_default')
    this.addSql('create index api_keys_by_user on api_keys (user_id, id)')
    this.addSql(`
      insert into api_keys (id, user_id, name, key_hash, prefix, is_default, created_at, updated_at)
      select id, id, 'Default key', api_key_hash, coalesce(api_key_prefix, ''), true, created_at, created_at
      from users where api_key_hash is not null`)
    this.addSql('alter table users drop column api_key_hash, drop column api_key_prefix')
    this.addSql('alter table audit_log add column api_key_id uuid')
  }
}
