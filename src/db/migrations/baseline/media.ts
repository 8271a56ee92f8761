/** Files, assets and uploads. */
export const media = [
  // What a search finds, each part on a line of its own.
  `
    create function asset_text(name text, alt_text text, tags text[]) returns text language sql immutable parallel safe
  return name || e'\\n' || alt_text || e'\\n' || array_to_string(tags, e'\\n')`,
  `
    create table asset_folders (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      parent_id uuid,
      name text not null,
      asset_count integer not null default 0,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  `create unique index asset_folders_name_key on asset_folders (workspace_id, COALESCE(parent_id, '00000000-0000-0000-0000-000000000000'::uuid), lower(name))`,
  `
    create table asset_files (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      sha256 text not null,
      size bigint not null,
      type text not null,
      kind text not null,
      width integer,
      height integer,
      seconds double precision,
      probe jsonb,
      thumbnail_state text not null,
      thumbnail_error text,
      thumbnails jsonb not null,
      blurhash text,
      asset_count integer not null default 0,
      use_count integer not null default 0,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create unique index asset_files_content_key on asset_files (workspace_id, sha256)',
  'create index asset_files_unused on asset_files (updated_at) where asset_count = 0',
  `
    create table assets (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      file_id uuid not null,
      kind text not null,
      size bigint not null,
      folder_id uuid references asset_folders (id) on delete set null,
      name text not null,
      alt_text text not null,
      alt_text_origin jsonb,
      tags text[] not null,
      uploaded_by uuid not null,
      deleted_at timestamptz,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index assets_by_uploader on assets (uploaded_by, id)',
  'create index assets_by_folder on assets (folder_id, id) where folder_id is not null',
  'create index assets_at_root on assets (workspace_id, id) where folder_id is null and deleted_at is null',
  'create index assets_by_kind on assets (workspace_id, kind, id) where deleted_at is null',
  'create index assets_by_size on assets (workspace_id, size, id) where deleted_at is null',
  'create index assets_by_name on assets (workspace_id, lower(name), id) where deleted_at is null',
  'create index assets_by_tag on assets using gin (workspace_terms(workspace_id, tags))',
  `create index assets_by_text on assets using gist (workspace_id, asset_text(name, alt_text, tags) gist_trgm_ops (siglen='64'))`,
  'create index assets_by_file on assets (file_id)',
  'create index assets_in_bin on assets (deleted_at) where deleted_at is not null',
  'create index assets_by_id on assets (workspace_id, id) where deleted_at is null',
  'create index assets_in_bin_by_id on assets (workspace_id, id) where deleted_at is not null',
  `
    create table asset_renditions (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      asset_id uuid not null references assets (id) on delete cascade,
      name text not null,
      spec jsonb not null,
      state text not null,
      progress integer not null,
      error text,
      type text,
      size bigint,
      width integer,
      height integer,
      seconds double precision,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      job_id uuid
    )`,
  'create index asset_renditions_by_workspace on asset_renditions (workspace_id)',
  'create unique index asset_renditions_spec_key on asset_renditions (asset_id, spec)',
  `
    create table uploads (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      user_id uuid not null,
      target text not null,
      name text not null,
      type text not null,
      size bigint not null,
      sha256 text,
      folder_id uuid,
      tags text[] not null,
      state text not null,
      error text,
      file jsonb,
      asset_id uuid,
      expires_at timestamptz not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index uploads_by_person on uploads (user_id, id)',
  'create index uploads_by_expiry on uploads (expires_at)',
  'create index uploads_by_workspace on uploads (workspace_id, id)',
  `
    create table storage_reservations (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      bytes bigint not null,
      expires_at timestamptz not null
    )`,
  'create index storage_reservations_by_workspace on storage_reservations (workspace_id)',
]
