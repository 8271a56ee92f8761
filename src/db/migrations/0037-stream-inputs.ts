import { Migration } from '@mikro-orm/migrations'

/** What is known of a stream's state while its media node does not answer, and which encoder is to be on the air. */
export class StreamInputs extends Migration {
  override up(): void {
    this.addSql(`alter table streams
      add column unconfirmed_since timestamptz,
      add column input_preference text not null default 'primary',
      add column input_selected text`)
  }
}
