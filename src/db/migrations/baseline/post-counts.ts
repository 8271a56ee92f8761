/**
 * How many posts a workspace has in each state, so that limits, the dashboard and the board of approvals count nothing.
 * Triggers keep the counts in the transaction of the change. Posts of a workspace change only in its turns, so two
 * transactions rarely wait for a row. Deleted posts are not counted.
 */

const KEY = 'workspace_id, status, has_time, approval, stage'

/** The key of a post. @param row the alias of the post with a point, or nothing */
const keyOf = (row: string) => `${row}workspace_id, ${row}status, ${row}scheduled_at is not null,
        coalesce(${row}approval ->> 'status', ''), coalesce((${row}approval ->> 'stage')::integer, 0)`

const add = (rows: string) => `
      insert into post_counts as c (${KEY}, post_count)
      ${rows}
      on conflict (${KEY}) do update set post_count = c.post_count + excluded.post_count;`

const subtract = (rows: string) => `
      update post_counts c set post_count = c.post_count - gone.count from (${rows}) as gone (${KEY}, count)
      where ${KEY.split(', ')
        .map((name) => `c.${name} = gone.${name}`)
        .join(' and ')};`

const IS_CHANGED = ['status', 'deleted_at', `approval ->> 'status'`, `approval ->> 'stage'`]
  .map((value) => `old.${value} is distinct from new.${value}`)
  .concat('(old.scheduled_at is null) <> (new.scheduled_at is null)')
  .join(' or ')

export const postCounts = [
  `
    create table post_counts (
      workspace_id uuid not null references workspaces (id) on delete cascade,
      status text not null,
      has_time boolean not null,
      approval text not null,
      stage integer not null,
      post_count integer not null,
      primary key (${KEY})
    )`,
  // Each change of a state updates two rows. Free space on the page keeps these updates out of the index.
  'alter table post_counts set (fillfactor = 50)',
  `
    create function posts_count_insert() returns trigger language plpgsql as $$
    begin ${add(`select ${keyOf('')}, count(*) from new_rows where deleted_at is null group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`)}
      return null;
    end $$`,
  `
    create function posts_count_update() returns trigger language plpgsql as $$
    begin
      if old.deleted_at is null then ${subtract(`select ${keyOf('old.')}, 1`)}
      end if;
      if new.deleted_at is null then ${add(`select ${keyOf('new.')}, 1`)}
      end if;
      return null;
    end $$`,
  `
    create function posts_count_delete() returns trigger language plpgsql as $$
    begin ${subtract(`select ${keyOf('')}, count(*) from old_rows where deleted_at is null group by 1, 2, 3, 4, 5`)}
      return null;
    end $$`,
  `create trigger posts_count_insert after insert on posts referencing new table as new_rows
      for each statement execute function posts_count_insert()`,
  // For each row, with a condition: most updates change no count, and need not copy their rows.
  `create trigger posts_count_update after update on posts for each row when (${IS_CHANGED})
      execute function posts_count_update()`,
  `create trigger posts_count_delete after delete on posts referencing old table as old_rows
      for each statement execute function posts_count_delete()`,
  // Counts the posts of workspaces again. Nothing else may change them meanwhile: call it in a turn of the workspace.
  `
    create function post_recount(workspaces uuid[]) returns void language plpgsql as $$
    begin
      delete from post_counts where workspace_id = any(workspaces);
      insert into post_counts (${KEY}, post_count)
      select ${keyOf('')}, count(*) from posts where workspace_id = any(workspaces) and deleted_at is null
      group by 1, 2, 3, 4, 5;
    end $$`,
]
