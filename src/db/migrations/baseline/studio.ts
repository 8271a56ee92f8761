/** Projects of the studio. */
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
  'create index studio_projects_by_workspace on studio_projects (workspace_id, id)',
  `
    create table studio_versions (
      id uuid primary key,
      project_id uuid not null references studio_projects (id) on delete cascade,
      version integer not null,
      name text not null,
      data jsonb not null,
      created_by uuid not null,
      created_at timestamptz not null,
      constraint studio_versions_number_key unique (project_id, version)
    )`,
]
