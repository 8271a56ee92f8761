import { Migration } from '@mikro-orm/migrations'

/** A stream's destination has the platform of the RTMP destination that it sends to. */
export class DestinationPlatforms extends Migration {
  override up(): void {
    this.addSql(
      `update stream_destinations s set platform = d.platform from rtmp_destinations d
       where d.id = s.account_id and d.platform is not null and s.platform = 'custom'`,
    )
  }
}
