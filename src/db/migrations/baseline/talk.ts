/** Channels and their messages. */
export const talk = [
  `
    create table channels (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
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
      constraint channels_named check ((kind = 'channel') = (name is not null) and (kind = 'dm') = (people is not null))
    )`,
  'create index channels_by_creator on channels (created_by, id)',
  'create unique index channels_name_key on channels (workspace_id, lower(name))',
  // A set of people has one direct conversation.
  'create unique index channels_people_key on channels (workspace_id, people)',
  'create index channels_by_workspace on channels (workspace_id, id)',
  `
    create table channel_members (
      channel_id uuid not null references channels (id) on delete cascade,
      workspace_id uuid not null,
      user_id uuid not null,
      primary key (channel_id, workspace_id, user_id),
      constraint channel_members_member_fkey foreign key (workspace_id, user_id) references workspace_members (workspace_id, user_id) on delete cascade
    )`,
  'create index channel_members_by_person on channel_members (user_id, channel_id)',
  'create index channel_members_by_member on channel_members (workspace_id, user_id)',
  `
    create table chat_messages (
      id uuid primary key,
      channel_id uuid not null references channels (id) on delete cascade,
      seq bigint not null,
      author_id uuid not null,
      client_id text,
      body text not null,
      attachments jsonb not null default '[]',
      mentions uuid[] not null default '{}'::uuid[],
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
      workspace_id uuid not null
    )`,
  'create index chat_messages_by_author on chat_messages (author_id, id)',
  'create unique index chat_messages_seq_key on chat_messages (channel_id, seq) include (author_id, created_at, deleted_at, mentions_all)',
  'create index chat_messages_by_thread on chat_messages (reply_to, seq) where reply_to is not null',
  'create index chat_messages_pinned on chat_messages (channel_id, pinned_at) where pinned_at is not null',
  'create index chat_messages_to_all on chat_messages (channel_id, seq) where mentions_all',
  'create unique index chat_messages_client_key on chat_messages (author_id, client_id, channel_id) where client_id is not null',
  // A search reads the whole list of pending entries, so the list is short (the default is 4 MB).
  `create index chat_messages_terms on chat_messages using gin (chat_terms(workspace_id, body)) with (gin_pending_list_limit='512')`,
  'create index chat_messages_by_time on chat_messages (workspace_id, created_at desc, id desc)',
  `
    create table chat_edits (
      message_id uuid not null references chat_messages (id) on delete cascade,
      edit integer not null,
      body text not null,
      at timestamptz not null,
      primary key (message_id, edit)
    )`,
  `
    create table chat_reactions (
      message_id uuid not null references chat_messages (id) on delete cascade,
      emoji text not null,
      user_id uuid not null,
      seq bigint not null,
      primary key (message_id, emoji, user_id)
    )`,
  'create index chat_reactions_by_person on chat_reactions (user_id, message_id, emoji)',
  `
    create table chat_mentions (
      user_id uuid not null,
      channel_id uuid not null references channels (id) on delete cascade,
      seq bigint not null,
      primary key (user_id, channel_id, seq)
    )`,
  'create index chat_mentions_by_message on chat_mentions (channel_id, seq)',
  `
    create table chat_reads (
      channel_id uuid not null references channels (id) on delete cascade,
      user_id uuid not null,
      seq bigint not null default 0,
      muted boolean not null default false,
      updated_at timestamptz not null,
      primary key (channel_id, user_id)
    )`,
  'create index chat_reads_by_person on chat_reads (user_id, channel_id)',
  `
    create table chat_log (
      channel_id uuid not null references channels (id) on delete cascade,
      seq bigint not null,
      type text not null,
      message_id uuid,
      by_id uuid not null,
      data jsonb,
      at timestamptz not null,
      primary key (channel_id, seq)
    )`,
  `
    create table chat_attachments (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      message_id uuid references chat_messages (id) on delete cascade,
      uploaded_by uuid not null,
      name text not null,
      type text not null,
      size integer not null,
      created_at timestamptz not null
    )`,
  'create index chat_attachments_by_uploader on chat_attachments (uploaded_by, id)',
  'create index chat_attachments_by_workspace on chat_attachments (workspace_id)',
  'create index chat_attachments_by_message on chat_attachments (message_id)',
  'create index chat_attachments_loose on chat_attachments (created_at) where message_id is null',
  `
    create table user_screens (
      socket_id text primary key,
      user_id uuid not null,
      resources text[] not null,
      until timestamptz not null
    )`,
  'create index user_screens_by_user on user_screens (user_id)',
  `
    create table webhooks (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      url text not null,
      description text not null,
      events text[] not null,
      ordered boolean not null,
      status text not null,
      disabled_reason text,
      secret_sealed text not null,
      previous_secret_sealed text,
      previous_secret_until timestamptz,
      created_by uuid not null,
      reader_id uuid not null,
      reader_scopes text[],
      version integer not null,
      cursor bigint not null,
      failures integer not null default 0,
      failing_since timestamptz,
      blocked_until timestamptz,
      slow boolean not null default false,
      lease_holder text,
      lease_until timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index webhooks_by_creator on webhooks (created_by, id)',
  'create index webhooks_by_workspace on webhooks (workspace_id, id)',
  `
    create table webhook_deliveries (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      webhook_id uuid not null,
      kind text not null,
      seq bigint not null,
      type text not null,
      message_id text not null,
      payload text not null,
      personal boolean not null,
      status text not null,
      attempts integer not null,
      next_attempt_at timestamptz,
      request_headers jsonb,
      http_status integer,
      response_headers jsonb,
      response_body text,
      duration_ms integer,
      error text,
      delivered_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, id)',
  'create index webhook_deliveries_by_age on webhook_deliveries (created_at)',
  "create index webhook_deliveries_pending on webhook_deliveries (webhook_id, seq) where status = 'pending'",
  'create index webhook_deliveries_by_workspace on webhook_deliveries (workspace_id)',
  `
    create table idea_boards (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      name text not null,
      description text not null,
      columns jsonb not null,
      rank text not null,
      seq bigint not null,
      version integer not null,
      created_by uuid not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index idea_boards_by_creator on idea_boards (created_by, id)',
  'create index idea_boards_by_workspace on idea_boards (workspace_id, id)',
  `
    create table ideas (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      board_id uuid not null references idea_boards (id) on delete cascade,
      column_id uuid not null,
      rank text not null,
      seq bigint not null,
      title text not null,
      description text not null,
      match_text text not null,
      status text not null,
      status_note text,
      decided_by uuid,
      decided_at timestamptz,
      duplicate_of_id uuid,
      asset_ids uuid[] not null default '{}',
      post_id uuid,
      score integer not null default 0,
      up_votes_count integer not null default 0,
      down_votes_count integer not null default 0,
      comments_count integer not null default 0,
      version integer not null,
      created_by uuid not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index ideas_by_creator on ideas (created_by, id)',
  'create index ideas_by_workspace on ideas (workspace_id, id)',
  'create index ideas_by_board on ideas (board_id, column_id)',
  'create index ideas_by_original on ideas (duplicate_of_id) where duplicate_of_id is not null',
  'create index ideas_by_asset on ideas using gin (asset_ids)',
  'create index ideas_by_similarity on ideas using gist (workspace_id, match_text gist_trgm_ops)',
  `
    create table idea_votes (
      idea_id uuid not null references ideas (id) on delete cascade,
      user_id uuid not null,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      value smallint not null constraint idea_votes_value check (abs(value) = 1),
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (idea_id, user_id)
    )`,
  'create index idea_votes_by_person on idea_votes (user_id, idea_id)',
  'create index idea_votes_by_workspace on idea_votes (workspace_id)',
  `
    create table idea_comments (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      idea_id uuid not null references ideas (id) on delete cascade,
      author_id uuid not null,
      body text not null,
      mentions uuid[] not null default '{}',
      asset_ids uuid[] not null default '{}',
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index idea_comments_by_author on idea_comments (author_id, id)',
  'create index idea_comments_by_idea on idea_comments (idea_id, id)',
  'create index idea_comments_by_workspace on idea_comments (workspace_id)',
  `
    create table canned_replies (
      id uuid primary key,
      title text not null,
      content text not null,
      version integer not null,
      created_by uuid not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index canned_replies_by_creator on canned_replies (created_by, id)',
  `
    create table support_tickets (
      id uuid primary key,
      user_id uuid references users (id) on delete cascade,
      claimed_user_id uuid references users (id) on delete cascade,
      unverified_from text,
      subject text not null,
      category text not null,
      priority text not null,
      status text not null,
      assignee_id uuid,
      messages_count integer not null,
      first_response_at timestamptz,
      resolved_at timestamptz,
      closed_at timestamptz,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint support_tickets_owner_check
        check ((user_id is null) = (claimed_user_id is not null) and (user_id is null) = (unverified_from is not null))
    )`,
  'create index support_tickets_by_user on support_tickets (user_id, id)',
  `create index support_tickets_by_claimed_user on support_tickets (claimed_user_id)
    where claimed_user_id is not null`,
  'create index support_tickets_by_status on support_tickets (status, id)',
  'create index support_tickets_by_priority on support_tickets (priority, id)',
  'create index support_tickets_by_category on support_tickets (category, id)',
  'create index support_tickets_by_assignee on support_tickets (assignee_id, id) where assignee_id is not null',
  'create index support_tickets_unverified on support_tickets (id) where user_id is null',
  `
    create table support_messages (
      id uuid primary key,
      ticket_id uuid not null references support_tickets (id) on delete cascade,
      author_id uuid,
      unverified_from text,
      role text not null,
      content text not null,
      by_mail boolean not null,
      created_at timestamptz not null
    )`,
  'create index support_messages_by_author on support_messages (author_id, id)',
  'create index support_messages_by_ticket on support_messages (ticket_id, id)',
  `
    create table support_mails (
      message_id text primary key,
      ticket_id uuid not null references support_tickets (id) on delete cascade,
      is_inbound boolean not null,
      created_at timestamptz not null
    )`,
  'create index support_mails_by_ticket on support_mails (ticket_id)',
  `
    create table support_attachments (
      id uuid primary key,
      message_id uuid references support_messages (id) on delete cascade,
      user_id uuid not null references users (id) on delete cascade,
      name text not null,
      type text not null,
      size integer not null,
      created_at timestamptz not null
    )`,
  'create index support_attachments_by_person on support_attachments (user_id, id)',
  'create index support_attachments_by_message on support_attachments (message_id) where message_id is not null',
  'create index support_attachments_loose on support_attachments (created_at) where message_id is null',
]
