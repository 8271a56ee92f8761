import { Migration } from '@mikro-orm/migrations'

/** Invitations; and a version of memberships, so that two people who change one notice each other. */
export class Team extends Migration {
  override up(): void {
    this.addSql('alter table workspace_members add column version integer not null default 1')
    this.addSql(`
      create table invitations (
        id uuid primary key,
        workspace_id uuid not null,
        email text not null,
        token_hash text not null,
        role text,
        role_id uuid,
        added_scopes text[] not null default '{}',
        removed_scopes text[] not null default '{}',
        message text,
        status text not null,
        invited_by uuid,
        sent_at timestamptz not null,
        expires_at timestamptz not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        constraint invitations_workspace_id_fkey foreign key (workspace_id) references workspaces (id) on delete cascade,
        constraint invitations_role_id_fkey foreign key (role_id) references roles (id) on delete set null,
        constraint invitations_invited_by_fkey foreign key (invited_by) references users (id) on delete set null,
        constraint invitations_one_role check (status <> 'open' or num_nonnulls(role, role_id) = 1)
      )`)
    this.addSql('create unique index invitations_token_key on invitations (token_hash)')
    // One open invitation an address and workspace, whatever goes wrong elsewhere.
    this.addSql(`create unique index invitations_open_key on invitations (workspace_id, email) where status = 'open'`)
    this.addSql('create index invitations_by_time on invitations (workspace_id, created_at desc, id desc)')
    this.addSql(
      `create index invitations_by_email on invitations (email, created_at desc, id desc) where status = 'open'`,
    )
    this.addSql('create index invitations_by_role on invitations (role_id)')
    this.addSql('create index invitations_by_inviter on invitations (invited_by)')
  }
}
