/** Workspaces, and who can do what in them. */
export const workspace = [
  `
    create table workspaces (
      id uuid primary key,
      owner_id uuid not null references users (id),
      name text not null,
      timezone text not null,
      logo text,
      ai_settings jsonb not null default '{}',
      second_factor_required_at timestamptz,
      version integer not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz,
      purge_at timestamptz
    )`,
  'create index workspaces_by_owner on workspaces (owner_id, id)',
  'create index workspaces_by_purge on workspaces (purge_at)',
  `
    create table roles (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      name text not null,
      scopes text[] not null default '{}',
      version integer not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create unique index roles_name_key on roles (workspace_id, name)',
  `
    create table workspace_members (
      workspace_id uuid not null references workspaces (id) on delete cascade,
      user_id uuid not null references users (id) on delete cascade,
      role text,
      role_id uuid references roles (id),
      added_scopes text[] not null default '{}',
      removed_scopes text[] not null default '{}',
      joined_at timestamptz not null,
      updated_at timestamptz not null,
      version integer not null default 1,
      constraint workspace_members_one_role check (num_nonnulls(role, role_id) = 1),
      primary key (workspace_id, user_id)
    )`,
  'create index workspace_members_by_user on workspace_members (user_id, workspace_id)',
  'create index workspace_members_by_role on workspace_members (role_id)',
  `
    create table groups (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      name text not null,
      scopes text[] not null default '{}',
      version integer not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create unique index groups_name_key on groups (workspace_id, name)',
  `
    create table group_members (
      group_id uuid not null references groups (id) on delete cascade,
      workspace_id uuid not null,
      user_id uuid not null,
      primary key (group_id, workspace_id, user_id),
      constraint group_members_member_fkey foreign key (workspace_id, user_id) references workspace_members (workspace_id, user_id) on delete cascade
    )`,
  'create index group_members_by_person on group_members (user_id, group_id)',
  'create index group_members_by_member on group_members (workspace_id, user_id)',
  `
    create table invitations (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      email text not null,
      token_hash text not null,
      role text,
      role_id uuid references roles (id) on delete set null,
      added_scopes text[] not null default '{}',
      removed_scopes text[] not null default '{}',
      message text,
      status text not null,
      invited_by uuid references users (id) on delete set null,
      sent_at timestamptz not null,
      expires_at timestamptz not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint invitations_one_role check (status <> 'open' or num_nonnulls(role, role_id) = 1)
    )`,
  'create index invitations_by_inviter on invitations (invited_by, id)',
  'create unique index invitations_token_key on invitations (token_hash)',
  // An address has one open invitation per workspace.
  `create unique index invitations_open_key on invitations (workspace_id, email) where status = 'open'`,
  'create index invitations_by_workspace on invitations (workspace_id, id)',
  `create index invitations_by_email on invitations (email, id) where status = 'open'`,
  'create index invitations_by_role on invitations (role_id)',
]
