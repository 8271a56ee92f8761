/** Notifications of users. */
export const notifications = [
  `
    create table notification_boxes (
      user_id uuid primary key references users (id) on delete cascade,
      version bigint not null
    )`,
  `
    create table notifications (
      id uuid primary key,
      user_id uuid not null references users (id) on delete cascade,
      workspace_id uuid references workspaces (id) on delete cascade,
      type text not null,
      kind text not null,
      data jsonb not null,
      group_key text,
      actor_ids uuid[] not null,
      count integer not null,
      in_app boolean not null,
      read_at timestamptz,
      mailed_at timestamptz,
      created_at timestamptz not null,
      latest_at timestamptz not null
    )`,
  'create index notifications_by_person on notifications (user_id, id)',
  'create index notifications_by_user on notifications (user_id, latest_at desc, id desc) where in_app',
  'create index notifications_unread on notifications (user_id) where in_app and read_at is null',
  'create unique index notifications_open_group on notifications (user_id, group_key) where read_at is null and group_key is not null',
  'create index notifications_by_workspace on notifications (workspace_id)',
  'create index notifications_by_user_and_age on notifications (user_id, latest_at, id)',
  'create index notifications_by_age on notifications (latest_at)',
  `
    create table notification_mails (
      notification_id uuid primary key references notifications (id) on delete cascade,
      user_id uuid not null references users (id) on delete cascade,
      batch text not null,
      created_at timestamptz not null
    )`,
  'create index notification_mails_by_batch on notification_mails (user_id, batch)',
  `
    create table push_keys (
      name text primary key,
      public_key text not null,
      private_key_sealed text not null,
      created_at timestamptz not null
    )`,
  `
    create table push_devices (
      id uuid primary key,
      user_id uuid not null references users (id) on delete cascade,
      session_id uuid,
      kind text not null,
      name text not null,
      address_digest text not null,
      subscription_sealed text not null,
      last_delivered_at timestamptz,
      error text,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint push_devices_address_digest_key unique (address_digest)
    )`,
  'create index push_devices_by_user on push_devices (user_id, id)',
]
