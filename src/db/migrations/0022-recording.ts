import { Migration } from '@mikro-orm/migrations'

/** Files into which live streams were recorded. They outlive their stream, as the assets made of them do. */
export class Recording extends Migration {
  override up(): void {
    this.addSql(`
      create table stream_recordings (
        id uuid primary key,
        workspace_id uuid not null,
        stream_id uuid not null,
        session_id uuid not null,
        file text not null,
        status text not null,
        started_at timestamptz not null,
        seconds double precision,
        bytes bigint,
        asset_id uuid,
        error text,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`)
    this.addSql('create unique index stream_recordings_file_key on stream_recordings (file)')
    this.addSql('create index stream_recordings_by_session on stream_recordings (session_id)')
    this.addSql('create index stream_recordings_by_workspace on stream_recordings (workspace_id)')
  }
}
