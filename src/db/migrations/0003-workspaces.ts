import { Migration } from '@mikro-orm/migrations'

/** Subscriptions, workspaces, and who may do what in them. */
export class Workspaces extends Migration {
  override up(): void {
    this.addSql(`
      create table subscriptions (
        user_id uuid primary key references users (id) on delete cascade,
        plan text not null,
        status text not null,
        anchor_at timestamptz not null,
        credits_used integer not null default 0,
        credits_since timestamptz not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`)
    this.addSql(`
      create table workspaces (
        id uuid primary key,
        owner_id uuid not null references users (id),
        name text not null,
        timezone text not null,
        logo text,
        ai_settings jsonb not null default '{}',
        version integer not null default 1,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        deleted_at timestamptz,
        purge_at timestamptz
      )`)
    this.addSql('create index workspaces_by_owner on workspaces (owner_id)')
    this.addSql('create index workspaces_by_purge on workspaces (purge_at)')
    this.addSql(`
      create table roles (
        id uuid primary key,
        workspace_id uuid not null references workspaces (id) on delete cascade,
        name text not null,
        scopes text[] not null default '{}',
        version integer not null default 1,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`)
    this.addSql('create unique index roles_name_key on roles (workspace_id, name)')
    this.addSql(`
      create table workspace_members (
        workspace_id uuid not null references workspaces (id) on delete cascade,
        user_id uuid not null references users (id) on delete cascade,
        role text,
        role_id uuid references roles (id),
        added_scopes text[] not null default '{}',
        removed_scopes text[] not null default '{}',
        joined_at timestamptz not null,
        updated_at timestamptz not null,
        primary key (workspace_id, user_id),
        constraint workspace_members_one_role check (num_nonnulls(role, role_id) = 1)
      )`)
    this.addSql('create index workspace_members_by_user on workspace_members (user_id)')
    this.addSql('create index workspace_members_by_role on workspace_members (role_id)')
    this.addSql(`
      create table groups (
        id uuid primary key,
        workspace_id uuid not null references workspaces (id) on delete cascade,
        name text not null,
        scopes text[] not null default '{}',
        version integer not null default 1,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`)
    this.addSql('create unique index groups_name_key on groups (workspace_id, name)')
    this.addSql(`
      create table group_members (
        group_id uuid not null references groups (id) on delete cascade,
        workspace_id uuid not null,
        user_id uuid not null,
        primary key (group_id, workspace_id, user_id),
        constraint group_members_member_fkey foreign key (workspace_id, user_id)
          references workspace_members (workspace_id, user_id) on delete cascade
      )`)
    this.addSql('create index group_members_by_member on group_members (workspace_id, user_id)')
  }
}
