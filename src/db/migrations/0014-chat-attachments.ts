import { Migration } from '@mikro-orm/migrations'

/** Files of messages. */
export class ChatAttachments extends Migration {
  override up(): void {
    this.addSql(`
      create table chat_attachments (
        id uuid primary key,
        workspace_id uuid not null,
        message_id uuid,
        uploaded_by uuid not null,
        name text not null,
        type text not null,
        size integer not null,
        created_at timestamptz not null,
        constraint chat_attachments_workspace_id_fkey foreign key (workspace_id) references workspaces (id) on delete cascade,
        constraint chat_attachments_message_id_fkey foreign key (message_id) references chat_messages (id) on delete cascade
      )`)
    this.addSql('create index chat_attachments_by_workspace on chat_attachments (workspace_id)')
    this.addSql('create index chat_attachments_by_message on chat_attachments (message_id)')
    this.addSql('create index chat_attachments_loose on chat_attachments (created_at) where message_id is null')
  }
}
