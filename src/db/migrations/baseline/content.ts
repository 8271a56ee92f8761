/** Apps, the blog and books. */
export const content = [
  `
    create table apps (
      id uuid primary key,
      slug text not null,
      name text not null,
      description text not null,
      icon_url text,
      listed boolean not null,
      version integer not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint apps_slug_key unique (slug)
    )`,
  `
    create table app_releases (
      id uuid primary key,
      app_id uuid not null references apps (id) on delete cascade,
      version text not null,
      platform text not null,
      release_notes text not null,
      file_name text not null,
      size bigint not null,
      sha256 text not null,
      published_at timestamptz not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint app_releases_version_key unique (app_id, version, platform)
    )`,
  `
    create table blog_posts (
      id uuid primary key,
      slug text not null,
      title text not null,
      summary text not null,
      body text not null,
      author text not null,
      category_names text[] not null default '{}',
      image_url text,
      image_alt text not null default '',
      published_at timestamptz,
      version integer not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint blog_posts_slug_key unique (slug)
    )`,
  'create index blog_posts_by_publication on blog_posts (published_at)',
  `
    create table books (
      id uuid primary key,
      title text not null,
      author text not null,
      language text not null,
      description text not null,
      cover_url text,
      data text not null,
      size integer not null,
      sha256 text not null,
      published_at timestamptz,
      version integer not null default 1,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`,
]
