import type { Client } from 'pg'

interface Filling {
  readonly workspaceId: string
  /** The member who made the rows. */
  readonly userId: string
  readonly scale: number
}

/** Columns of a copied row that differ from its template. `k` is the number of the copy. */
type Changes = Readonly<Record<string, string>>

/** An id that is older than its template, in the order of the copies. */
const ID = `(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 86400000 - k * 10), 12, '0') || '7' ||
  substr(md5(k::text || random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`
const TIME = `now() - make_interval(secs => k * 0.1)`

/**
 * Copies one row of the large workspace, or of its member, which the fixtures have made, so that copies are valid without
 * knowledge of each table. Foreign keys and triggers are off meanwhile; the changes keep references valid.
 */
export async function fill(client: Client, { scale, userId, workspaceId }: Filling): Promise<void> {
  const many = (count: number) => Math.max(1, Math.round(count * scale))
  await client.query(`set session_replication_role = replica`)
  const own = `workspace_id = '${workspaceId}'`
  const mine = `user_id = '${userId}'`
  const copy = async (table: string, where: string, count: number, changes: Changes) => {
    const { rows } = await client.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
       and attgenerated = ''`,
      [table],
    )
    const columns = rows.map(({ name }) => name)
    const selected = columns.map((name) => changes[name] ?? `t.${name}`)
    const result = await client.query(
      `insert into ${table} (${columns.join(', ')}) select ${selected.join(', ')}
       from (select * from ${table} where ${where} limit 1) t, generate_series(1, ${count}) k on conflict do nothing`,
    )
    if (!result.rowCount) console.log(`No ${table} was copied: the fixtures have made none.`)
  }
  const dated = { created_at: TIME, updated_at: TIME }
  await copy('posts', own, many(200_000), { id: ID, ...dated })
  for (const part of [1, 2, 3]) {
    await copy('post_targets', own, many(200_000), {
      id: ID,
      post_id: `(select id from posts where ${own} order by id limit 1)`,
      scheduled_at: `now() + make_interval(mins => k * ${part})`,
    })
  }
  await copy('asset_files', own, many(300_000), { id: ID, sha256: `md5(k::text)`, ...dated })
  await client.query(
    `insert into assets (id, workspace_id, file_id, name, alt_text, tags, uploaded_by, version, created_at, updated_at)
     select ${ID}, workspace_id, id, 'Picture ' || k || '.png', 'A picture of ' || md5(k::text),
       array['tag' || k % 200], '${userId}', 1, created_at, updated_at
     from (select *, row_number() over () as k from asset_files where ${own}) f`,
  )
  const message = { id: ID, created_at: TIME, client_id: 'null', author_id: `'${userId}'` }
  await copy('chat_messages', own, many(2_000_000), {
    ...message,
    seq: 'k + 1000000',
    body: `'message ' || md5(k::text)`,
  })
  await copy('audit_log', own, many(1_000_000), { id: ID, created_at: TIME, actor_id: `'${userId}'` })
  await copy('notifications', mine, many(1_000_000), {
    id: ID,
    group_key: 'null',
    created_at: TIME,
    latest_at: TIME,
    read_at: TIME,
  })
  const day = `now() - make_interval(secs => k * ${86_000 / many(500_000)})`
  await client.query(
    `insert into finished_jobs (id, name, queue, workspace_id, attempts, run_at, started_at, finished_at, created_at)
     select ${ID}, 'posts.publish', 'publish', '${workspaceId}', 1, ${day}, ${day}, ${day}, ${day}
     from generate_series(1, ${many(500_000)}) k`,
  )
  await copy('workspaces', `id = '${workspaceId}'`, many(10_000), { id: ID, ...dated })
  await client.query(`set session_replication_role = origin`)
  await client.query('vacuum analyze')
}
