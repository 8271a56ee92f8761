/** AI jobs and what they have made. */
export const ai = [
  `
    create table ai_jobs (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      kind text not null,
      state text not null,
      progress integer not null,
      asset_id uuid,
      request jsonb not null,
      provider text not null,
      model text,
      job_id uuid not null,
      payer_id uuid not null,
      reservation_id uuid not null,
      credits_reserved integer not null,
      credits_used integer,
      style jsonb,
      analysis jsonb,
      ignored_settings text[] not null default '{}',
      error text,
      created_by uuid not null,
      finished_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index ai_jobs_by_creator on ai_jobs (created_by, id)',
  'create index ai_jobs_by_workspace on ai_jobs (workspace_id, id)',
  `create index ai_jobs_open on ai_jobs (id) where state in ('queued', 'running')`,
  `
    create table ai_captions (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      ai_job_id uuid not null references ai_jobs (id) on delete cascade,
      asset_id uuid references assets (id) on delete cascade,
      variant_number integer not null,
      platform text,
      title text,
      content text not null,
      hashtags text[] not null default '{}',
      shortened boolean not null,
      origin text not null,
      model text,
      prompt_version text,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
  'create index ai_captions_by_workspace on ai_captions (workspace_id, id)',
  'create index ai_captions_by_job on ai_captions (ai_job_id, id)',
  'create index ai_captions_by_asset on ai_captions (asset_id, id) where asset_id is not null',
  `
    create table ai_transcripts (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      ai_job_id uuid not null references ai_jobs (id) on delete cascade,
      asset_id uuid not null references assets (id) on delete cascade,
      language text,
      duration_seconds double precision not null,
      segments jsonb not null,
      origin text not null,
      model text,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint ai_transcripts_ai_job_key unique (ai_job_id)
    )`,
  'create index ai_transcripts_by_workspace on ai_transcripts (workspace_id, id)',
  'create index ai_transcripts_by_asset on ai_transcripts (asset_id, id)',
  `
    create table ai_texts (
      id uuid primary key,
      workspace_id uuid not null references workspaces (id) on delete cascade,
      ai_job_id uuid not null,
      model text not null,
      prints text[] not null,
      created_at timestamptz not null
    )`,
  'create index ai_texts_by_workspace on ai_texts (workspace_id, id)',
  'create index ai_texts_by_print on ai_texts using gin (prints)',
  `
    create table ai_connections (
      workspace_id uuid primary key references workspaces (id) on delete cascade,
      base_url text not null,
      models text[] not null default '{}',
      transcription_model text,
      has_key boolean not null,
      key_id uuid not null,
      data_key_sealed text not null,
      sealed text not null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
]
