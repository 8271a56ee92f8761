/**
 * What the media library counts, so that limits and statistics read no assets. Triggers keep the counts in the
 * transaction of the change. Assets of a workspace change only in its turns, so two transactions rarely wait for a row.
 */

type Change = 'insert' | 'update' | 'delete'

/** Assets before and after a statement: `n` counts assets, `live` those outside of the bin. */
function changedAssets(change: Change): string {
  const columns = 'workspace_id, id, file_id, folder_id, tags'
  const after = `select ${columns}, 1 as n, (deleted_at is null)::integer as live from new_rows`
  const before = `select ${columns}, -1, -(deleted_at is null)::integer as live from old_rows`
  if (change === 'insert') return after
  return change === 'delete' ? before.replace('-1,', '-1 as n,') : `${after} union all ${before}`
}

const COUNTS = ['asset_count', 'image_bytes', 'video_bytes', 'audio_bytes', 'document_bytes', 'rendition_bytes']

/**
 * Adds `delta (workspace_id, …)` to the counts. A deletion never adds a row: the workspace itself may be going away.
 * @param columns those of `delta`
 */
function addDelta(change: Change, columns: readonly string[]): string {
  if (change !== 'insert' && change !== 'update') {
    return `update asset_counts c set ${columns.map((name) => `${name} = c.${name} + delta.${name}`).join(', ')}
      from delta where c.workspace_id = delta.workspace_id`
  }
  return `insert into asset_counts as c (workspace_id, ${columns.join(', ')})
      select workspace_id, ${columns.join(', ')} from delta order by workspace_id
      on conflict (workspace_id) do update set ${columns.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')}`
}

function countAssets(change: Change): string {
  const changed = changedAssets(change)
  const kinds = ['image', 'video', 'audio', 'document']
  const moreTags = `
      insert into asset_tags as t (workspace_id, tag, asset_count)
      select workspace_id, tag, sum(live) from (${changed}) changed, unnest(tags) tag
      group by 1, 2 having sum(live) > 0 order by 1, 2
      on conflict (workspace_id, tag) do update set asset_count = t.asset_count + excluded.asset_count;`
  const fewerTags = `
      update asset_tags t set asset_count = t.asset_count + less.count from (
        select workspace_id, tag, sum(live) as count from (${changed}) changed, unnest(tags) tag
        group by 1, 2 having sum(live) < 0) less
      where t.workspace_id = less.workspace_id and t.tag = less.tag;
      delete from asset_tags t using (select distinct workspace_id, tag from old_rows, unnest(tags) tag) gone
      where t.workspace_id = gone.workspace_id and t.tag = gone.tag and t.asset_count <= 0;`
  return `
    create function assets_count_${change}() returns trigger language plpgsql as $$
    begin
      with changed as (${changed}),
      files as (
        update asset_files f set asset_count = f.asset_count + d.n, use_count = f.use_count + d.live
        from (select file_id, sum(n)::integer as n, sum(live)::integer as live from changed
              group by file_id having sum(n) <> 0 or sum(live) <> 0) d
        where f.id = d.file_id
        returning f.workspace_id, f.kind, f.size * ((f.use_count > 0)::integer - (f.use_count - d.live > 0)::integer) as bytes
      ), folders as (
        update asset_folders f set asset_count = f.asset_count + d.live
        from (select folder_id, sum(live)::integer as live from changed where folder_id is not null
              group by folder_id having sum(live) <> 0) d
        where f.id = d.folder_id
      ), delta as (
        select workspace_id, sum(count) as asset_count,
          ${kinds.map((kind) => `coalesce(sum(bytes) filter (where kind = '${kind}'), 0) as ${kind}_bytes`).join(',\n          ')},
          coalesce(sum(bytes) filter (where kind = 'rendition'), 0) as rendition_bytes
        from (
          select workspace_id, live as count, null as kind, 0 as bytes from changed
          union all select workspace_id, 0, kind, bytes from files where bytes <> 0
          union all select c.workspace_id, 0, 'rendition', r.size * c.live
            from (select workspace_id, id, sum(live) as live from changed group by 1, 2 having sum(live) <> 0) c
            join asset_renditions r on r.asset_id = c.id where r.size is not null
        ) parts group by workspace_id
        having sum(count) <> 0 or sum(abs(bytes)) <> 0
      )
      ${addDelta(change, COUNTS)};${change === 'delete' ? '' : moreTags}${change === 'insert' ? '' : fewerTags}
      return null;
    end $$`
}

function countRenditions(change: Change): string {
  const after = 'select asset_id, coalesce(size, 0) as bytes from new_rows'
  const before = 'select asset_id, -coalesce(size, 0) as bytes from old_rows'
  const changed = change === 'insert' ? after : change === 'delete' ? before : `${after} union all ${before}`
  return `
    create function asset_renditions_count_${change}() returns trigger language plpgsql as $$
    begin
      with delta as (
        select a.workspace_id, sum(r.bytes) as rendition_bytes from (${changed}) r join assets a on a.id = r.asset_id
        where a.deleted_at is null group by 1 having sum(r.bytes) <> 0
      )
      ${addDelta(change, ['rendition_bytes'])};
      return null;
    end $$`
}

function trigger(table: string, change: Change): string {
  const rows = { insert: 'new table as new_rows', delete: 'old table as old_rows' }
  const referencing = change === 'update' ? `${rows.insert} ${rows.delete}` : rows[change]
  return `create trigger ${table}_count_${change} after ${change} on ${table} referencing ${referencing}
      for each statement execute function ${table}_count_${change}()`
}

const CHANGES: readonly Change[] = ['insert', 'update', 'delete']

export const assetCounts = [
  `
    create table asset_counts (
      workspace_id uuid primary key references workspaces (id) on delete cascade,
      asset_count integer not null default 0,
      image_bytes bigint not null default 0,
      video_bytes bigint not null default 0,
      audio_bytes bigint not null default 0,
      document_bytes bigint not null default 0,
      rendition_bytes bigint not null default 0
    )`,
  `
    create table asset_tags (
      workspace_id uuid not null references workspaces (id) on delete cascade,
      tag text not null,
      asset_count integer not null,
      primary key (workspace_id, tag)
    )`,
  'create index asset_tags_by_count on asset_tags (workspace_id, asset_count desc, tag)',
  ...CHANGES.map(countAssets),
  ...CHANGES.map(countRenditions),
  ...CHANGES.map((change) => trigger('assets', change)),
  ...CHANGES.map((change) => trigger('asset_renditions', change)),
  // Counts the assets of workspaces again. Nothing else may change them meanwhile: call it in a turn of the workspace.
  `
    create function asset_recount(workspaces uuid[]) returns void language plpgsql as $$
    begin
      update asset_files f set asset_count = d.n, use_count = d.live from (
        select f.id, count(a.id)::integer as n, (count(a.id) filter (where a.deleted_at is null))::integer as live
        from asset_files f left join assets a on a.file_id = f.id where f.workspace_id = any(workspaces) group by f.id) d
      where f.id = d.id and (f.asset_count <> d.n or f.use_count <> d.live);
      update asset_folders f set asset_count = d.live from (
        select f.id, count(a.id)::integer as live
        from asset_folders f left join assets a on a.folder_id = f.id and a.deleted_at is null
        where f.workspace_id = any(workspaces) group by f.id) d
      where f.id = d.id and f.asset_count <> d.live;
      delete from asset_tags where workspace_id = any(workspaces);
      insert into asset_tags (workspace_id, tag, asset_count)
      select workspace_id, tag, count(*) from assets, unnest(tags) tag
      where workspace_id = any(workspaces) and deleted_at is null group by 1, 2;
      delete from asset_counts where workspace_id = any(workspaces);
      insert into asset_counts (workspace_id, ${COUNTS.join(', ')})
      select id, (select count(*) from assets a where a.workspace_id = w.id and a.deleted_at is null),
        ${['image', 'video', 'audio', 'document'].map((kind) => `(select coalesce(sum(size), 0) from asset_files f where f.workspace_id = w.id and kind = '${kind}' and use_count > 0)`).join(',\n        ')},
        (select coalesce(sum(r.size), 0) from asset_renditions r join assets a on a.id = r.asset_id
          where r.workspace_id = w.id and a.deleted_at is null)
      from unnest(workspaces) w (id);
    end $$`,
]
