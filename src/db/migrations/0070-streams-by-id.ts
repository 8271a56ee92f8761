import { Migration } from '@mikro-orm/migrations'

/**
 * Streams and RTMP destinations are deleted with their workspace, and a deleted RTMP destination leaves the streams that
 * use it. Streams, sessions and destinations are listed by id, which is the order of creation.
 */
export class StreamsById extends Migration {
  override up(): void {
    for (const name of ['streams', 'rtmp_destinations']) {
      this.addSql(`delete from ${name} where workspace_id not in (select id from workspaces)`)
      this.addSql(`alter table ${name} add constraint ${name}_workspace_id_fkey
        foreign key (workspace_id) references workspaces (id) on delete cascade`)
    }
    this.addSql(`alter table stream_destinations
      drop constraint stream_destinations_account_id_fkey,
      add constraint stream_destinations_account_id_fkey
        foreign key (account_id) references rtmp_destinations (id) on delete cascade`)
    this.addSql('drop index streams_by_time')
    this.addSql('create index streams_by_workspace on streams (workspace_id, id)')
    this.addSql('drop index streams_by_status')
    this.addSql('create index streams_by_status on streams (workspace_id, status, id)')
    this.addSql('drop index rtmp_destinations_by_time')
    this.addSql('create index rtmp_destinations_by_workspace on rtmp_destinations (workspace_id, id)')
    this.addSql('drop index stream_sessions_by_time')
    this.addSql('create index stream_sessions_by_stream on stream_sessions (stream_id, id)')
  }
}
