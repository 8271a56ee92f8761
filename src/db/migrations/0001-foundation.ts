import { Migration } from '@mikro-orm/migrations'

/** What every workspace's order of changes stands on: the fence of its actor, its events, its audit log. */
export class Foundation extends Migration {
  override up(): void {
    this.addSql(`
      create table actor_fence (
        key text primary key,
        epoch bigint not null default 1,
        seq bigint not null default 0,
        batch uuid
      )`)
    this.addSql(`
      create table workspace_events (
        workspace_id uuid not null,
        seq bigint not null,
        type text not null,
        data jsonb not null,
        at timestamptz not null,
        primary key (workspace_id, seq)
      )`)
    this.addSql(`
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
        created_at timestamptz not null
      )`)
    this.addSql('create index audit_log_by_time on audit_log (workspace_id, created_at desc, id desc)')
    this.addSql(`
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
      )`)
    this.addSql('create index idempotency_keys_by_expiry on idempotency_keys (expires_at)')
    this.addSql(`
      create table service_switches (
        key text primary key,
        enabled boolean not null,
        updated_at timestamptz not null
      )`)
  }
}
