import { Migration } from '@mikro-orm/migrations'

/** Files that are broadcast over streams, and how far each broadcast is. */
export class Broadcast extends Migration {
  override up(): void {
    this.addSql(`
      create table stream_broadcasts (
        id uuid primary key,
        stream_id uuid not null references streams (id) on delete cascade,
        workspace_id uuid not null,
        status text not null,
        items jsonb not null,
        loop boolean not null,
        go_live boolean not null,
        item integer not null,
        position_ms bigint not null,
        cue integer not null,
        node_id uuid,
        scheduled_for timestamptz,
        started_at timestamptz,
        ended_at timestamptz,
        error text,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`)
    this.addSql(`create unique index stream_broadcasts_open_key on stream_broadcasts (stream_id)
      where status in ('scheduled', 'playing', 'paused')`)
    this.addSql(`create index stream_broadcasts_by_time on stream_broadcasts (stream_id, created_at desc)`)
    this.addSql(`create index stream_broadcasts_open on stream_broadcasts (workspace_id)
      where status in ('scheduled', 'playing', 'paused')`)
  }
}
