import { Migration } from '@mikro-orm/migrations'

/** Streams, where they go, their broadcasts, and the seconds that count against a plan. */
export class Streams extends Migration {
  override up(): void {
    this.addSql(`
      create table streams (
        id uuid primary key,
        workspace_id uuid not null,
        title text not null,
        description text not null,
        status text not null,
        status_reason text,
        status_since timestamptz not null,
        path text not null,
        key_hash text not null,
        key_sealed text not null,
        key_expires_at timestamptz not null,
        scheduled_for timestamptz,
        record boolean not null,
        profile text not null,
        session_id uuid,
        live_at timestamptz,
        ingest_id uuid,
        ingest_node uuid,
        version integer not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`)
    this.addSql('create unique index streams_path_key on streams (path)')
    this.addSql('create index streams_by_time on streams (workspace_id, created_at desc, id desc)')
    this.addSql('create index streams_by_status on streams (workspace_id, status, created_at desc, id desc)')
    this.addSql(`create index streams_interrupted on streams (status_since) where status = 'interrupted'`)
    this.addSql('create index streams_by_ingest_node on streams (ingest_node) where ingest_node is not null')
    this.addSql(`
      create table rtmp_destinations (
        id uuid primary key,
        workspace_id uuid not null,
        name text not null,
        url text not null,
        key_sealed text not null,
        key_hint text not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`)
    this.addSql('create index rtmp_destinations_by_time on rtmp_destinations (workspace_id, created_at desc, id desc)')
    this.addSql(`
      create table stream_destinations (
        id uuid primary key,
        stream_id uuid not null references streams (id) on delete cascade,
        workspace_id uuid not null,
        platform text not null,
        account_id uuid not null references rtmp_destinations (id),
        name text not null,
        enabled boolean not null,
        status text not null,
        since timestamptz not null,
        last_error jsonb,
        created_at timestamptz not null
      )`)
    this.addSql('create unique index stream_destinations_account_key on stream_destinations (stream_id, account_id)')
    this.addSql('create index stream_destinations_by_account on stream_destinations (account_id)')
    this.addSql(`
      create table stream_sessions (
        id uuid primary key,
        stream_id uuid not null references streams (id) on delete cascade,
        workspace_id uuid not null,
        owner_id uuid not null,
        started_at timestamptz not null,
        ended_at timestamptz,
        end_reason text,
        warned_minutes integer,
        destinations jsonb not null
      )`)
    this.addSql('create index stream_sessions_by_time on stream_sessions (stream_id, started_at desc, id desc)')
    // Outlives its stream: what was used stays used.
    this.addSql(`
      create table stream_usage (
        ingest_id uuid not null,
        month date not null,
        session_id uuid not null,
        stream_id uuid not null,
        workspace_id uuid not null,
        owner_id uuid not null,
        live_ms bigint not null,
        updated_at timestamptz not null,
        primary key (ingest_id, month)
      )`)
    this.addSql('create index stream_usage_by_owner on stream_usage (owner_id, month)')
    this.addSql('create index stream_usage_by_session on stream_usage (session_id)')
  }
}
