import { Migration } from '@mikro-orm/migrations'

/** A broadcast whose files are still made into what platforms take is open too. */
export class Preparing extends Migration {
  override up(): void {
    const open = `where status in ('scheduled', 'preparing', 'playing', 'paused')`
    this.addSql('drop index stream_broadcasts_open_key')
    this.addSql(`create unique index stream_broadcasts_open_key on stream_broadcasts (stream_id) ${open}`)
    this.addSql('drop index stream_broadcasts_open')
    this.addSql(`create index stream_broadcasts_open on stream_broadcasts (workspace_id) ${open}`)
  }
}
