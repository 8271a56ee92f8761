import { Migration } from '@mikro-orm/migrations'

/** Channels are listed by id, which is the order of creation. */
export class ChannelsById extends Migration {
  override up(): void {
    this.addSql('drop index channels_by_time')
    this.addSql('create index channels_by_workspace on channels (workspace_id, id)')
  }
}
