import { Migration } from '@mikro-orm/migrations'

/** Channels, who is in them, what is said in them, and the log in which every change takes a place. */
export class Chat extends Migration {
  override up(): void {
    this.addSql(`
      create table channels (
        id uuid primary key,
        workspace_id uuid not null,
        kind text not null,
        name text,
        topic text,
        private boolean not null default false,
        people text,
        created_by uuid,
        archived_at timestamptz,
        version integer not null default 1,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        constraint channels_workspace_id_fkey foreign key (workspace_id) references workspaces (id) on delete cascade,
        constraint channels_named check ((kind = 'channel') = (name is not null) and (kind = 'dm') = (people is not null))
      )`)
    this.addSql('create unique index channels_name_key on channels (workspace_id, lower(name))')
    // The same set of people has one direct conversation, whatever goes wrong elsewhere.
    this.addSql('create unique index channels_people_key on channels (workspace_id, people)')
    this.addSql('create index channels_by_time on channels (workspace_id, created_at desc, id desc)')
    this.addSql(`
      create table channel_members (
        channel_id uuid not null,
        workspace_id uuid not null,
        user_id uuid not null,
        primary key (channel_id, workspace_id, user_id),
        constraint channel_members_channel_id_fkey foreign key (channel_id) references channels (id) on delete cascade,
        constraint channel_members_member_fkey foreign key (workspace_id, user_id)
          references workspace_members (workspace_id, user_id) on delete cascade
      )`)
    this.addSql('create index channel_members_by_member on channel_members (workspace_id, user_id)')
    this.addSql(`
      create table chat_messages (
        id uuid primary key,
        channel_id uuid not null,
        seq bigint not null,
        author_id uuid not null,
        client_id text,
        body text not null,
        attachments jsonb not null default '[]',
        mentions uuid[] not null default '{}',
        mentions_all boolean not null default false,
        reply_to uuid,
        replies integer not null default 0,
        last_reply_seq bigint,
        last_reply_at timestamptz,
        edits integer not null default 0,
        edited_at timestamptz,
        pinned_at timestamptz,
        pinned_by uuid,
        deleted_at timestamptz,
        created_at timestamptz not null,
        constraint chat_messages_channel_id_fkey foreign key (channel_id) references channels (id) on delete cascade
      )`)
    this.addSql('create unique index chat_messages_seq_key on chat_messages (channel_id, seq)')
    this.addSql(
      `create unique index chat_messages_client_key on chat_messages (channel_id, author_id, client_id) where client_id is not null`,
    )
    this.addSql('create index chat_messages_by_thread on chat_messages (reply_to, seq) where reply_to is not null')
    this.addSql(
      'create index chat_messages_pinned on chat_messages (channel_id, pinned_at) where pinned_at is not null',
    )
    this.addSql('create index chat_messages_to_all on chat_messages (channel_id, seq) where mentions_all')
    this.addSql(`create index chat_messages_words on chat_messages using gin (to_tsvector('simple', body))`)
    this.addSql(`
      create table chat_edits (
        message_id uuid not null,
        edit integer not null,
        body text not null,
        at timestamptz not null,
        primary key (message_id, edit),
        constraint chat_edits_message_id_fkey foreign key (message_id) references chat_messages (id) on delete cascade
      )`)
    this.addSql(`
      create table chat_reactions (
        message_id uuid not null,
        emoji text not null,
        user_id uuid not null,
        seq bigint not null,
        primary key (message_id, emoji, user_id),
        constraint chat_reactions_message_id_fkey foreign key (message_id) references chat_messages (id) on delete cascade
      )`)
    this.addSql(`
      create table chat_mentions (
        user_id uuid not null,
        channel_id uuid not null,
        seq bigint not null,
        primary key (user_id, channel_id, seq),
        constraint chat_mentions_channel_id_fkey foreign key (channel_id) references channels (id) on delete cascade
      )`)
    this.addSql('create index chat_mentions_by_message on chat_mentions (channel_id, seq)')
    this.addSql(`
      create table chat_reads (
        channel_id uuid not null,
        user_id uuid not null,
        seq bigint not null default 0,
        muted boolean not null default false,
        updated_at timestamptz not null,
        primary key (channel_id, user_id),
        constraint chat_reads_channel_id_fkey foreign key (channel_id) references channels (id) on delete cascade
      )`)
    this.addSql(`
      create table chat_log (
        channel_id uuid not null,
        seq bigint not null,
        type text not null,
        message_id uuid,
        by_id uuid not null,
        data jsonb,
        at timestamptz not null,
        primary key (channel_id, seq),
        constraint chat_log_channel_id_fkey foreign key (channel_id) references channels (id) on delete cascade
      )`)
  }
}
