import { Migration } from '@mikro-orm/migrations'

/** The token with which a browser publishes; a stream has one once it was armed. */
export class Whip extends Migration {
  override up(): void {
    this.addSql('alter table streams add column whip_token_hash text')
  }
}
