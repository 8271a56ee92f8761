/** Projects of the studio and their renderings. */
export const studio = [
  `
    create table studio_projects (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      name text not null,
      page_count integer not null,
      version integer not null,
      created_by uuid not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index studio_projects_by_creator on studio_projects (created_by, id)',
  'create index studio_projects_by_workspace on studio_projects (workspace_id, id)',
  `
    create table studio_versions (
      id uuid primary key,
      project_id uuid not null references studio_projects (id) on delete cascade,
      version integer not null,
      name text not null,
      data jsonb not null,
      asset_ids uuid[] not null,
      created_by uuid not null,
      created_at timestamptz not null,
      constraint studio_versions_number_key unique (project_id, version)
    )`,
  'create index studio_versions_by_creator on studio_versions (created_by, id)',
  `
    create table studio_renders (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      project_id uuid not null references studio_projects (id) on delete cascade,
      version integer not null,
      format text not null,
      page_numbers integer[] not null,
      folder_id uuid,
      status text not null,
      progress integer not null,
      job_id uuid not null,
      asset_ids uuid[] not null,
      error text,
      created_by uuid not null,
      finished_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index studio_renders_by_creator on studio_renders (created_by, id)',
  'create index studio_renders_by_project on studio_renders (project_id, id)',
  'create index studio_renders_by_workspace on studio_renders (workspace_id)',
  `create index studio_renders_open on studio_renders (workspace_id, id) where status in ('queued', 'running')`,
]
