import { Migration } from '@mikro-orm/migrations'

/** The index of clients' own ids begins with what one resend names; see `RESENT` in src/domains/talk/chat/messages.ts. */
export class ChatResends extends Migration {
  override up(): void {
    this.addSql('drop index chat_messages_client_key')
    this.addSql(
      'create unique index chat_messages_client_key on chat_messages (author_id, client_id, channel_id) where client_id is not null',
    )
  }
}
