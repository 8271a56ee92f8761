import type { Client } from 'pg'

export interface Filling {
  readonly workspaceId: string
  /** The member who made the rows. */
  readonly userId: string
  readonly ownerId: string
  readonly scale: number
}

/** Columns of a copied row that differ from its template `t`. `k` is the number of the copy. */
type Changes = Readonly<Record<string, string>>

const DAYS = 86_400
const random = (seed: string) => `md5(${seed} || random()::text)`

/** An id of the time of a copy: a UUID of version 7. */
const idOf = (time: string) => `(lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') || '7' ||
  substr(${random('k::text')}, 1, 3) || '8' || substr(${random(`'x'`)}, 1, 15))::uuid`

/** Evenly within the last `days`, the newest copy last. */
const within = (days: number, count: number) =>
  `now() - make_interval(secs => (${count} - k) * ${(days * DAYS) / count})`

/** A file with one asset. The triggers that count are off. */
const USED_ONCE = { asset_count: '1', use_count: '1' }

const CHANNELS = 50
const SMALL_WORKSPACES = 10_000

/**
 * Fills the database by SQL: copies rows of the large workspace, or of its member, which the fixtures have made, so that
 * copies are valid without knowledge of each column. Foreign keys and triggers are off meanwhile; the changes keep
 * references valid, and the functions that repair counts count what triggers count.
 */
export class Fill {
  readonly #client: Client
  readonly #filling: Filling
  readonly #own: string

  constructor(client: Client, filling: Filling) {
    this.#client = client
    this.#filling = filling
    this.#own = `workspace_id = '${filling.workspaceId}'`
  }

  async run(): Promise<void> {
    await this.#client.query(`set session_replication_role = replica`)
    const indexes = await this.#dropIndexes()
    await this.#posts()
    await this.#assets()
    await this.#chat()
    await this.#logs()
    await this.#jobs()
    await this.#tickets()
    await this.#analytics()
    await this.#smallWorkspaces()
    await this.#client.query(`set maintenance_work_mem = '1GB'`)
    for (const definition of indexes) await this.#client.query(definition)
    await this.#client.query('reset maintenance_work_mem')
    await this.#client.query('analyze')
    await this.#client.query('select asset_recount(array(select id from workspaces))')
    await this.#client.query('select post_recount(array(select id from workspaces))')
    await this.#client.query(`set session_replication_role = origin`)
    await this.#client.query('vacuum analyze')
  }

  /**
   * Drops the indexes that keep no row from being inserted twice: to build them of all rows takes a fraction of the time.
   * @returns the statements that create them again
   */
  async #dropIndexes(): Promise<readonly string[]> {
    const { rows } = await this.#client.query<{ name: string; definition: string }>(
      `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
       from pg_index i join pg_class t on t.oid = i.indrelid
       where not i.indisunique and not t.relispartition and t.relnamespace = 'public'::regnamespace`,
    )
    for (const { name } of rows) await this.#client.query(`drop index ${name}`)
    return rows.map(({ definition }) => definition)
  }

  #many(count: number): number {
    return Math.max(1, Math.round(count * this.#filling.scale))
  }

  async #copy(table: string, where: string, count: number, changes: Changes, from = ''): Promise<void> {
    const { rows } = await this.#client.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
       and attgenerated = ''`,
      [table],
    )
    const columns = rows.map(({ name }) => name)
    const selected = columns.map((name) => changes[name] ?? `t.${name}`)
    const result = await this.#client.query(
      `insert into ${table} (${columns.join(', ')}) select ${selected.join(', ')}
       from (select * from ${table} where ${where} order by 1 limit 1) t, generate_series(1, ${count}) k ${from}
       on conflict do nothing`,
    )
    if (!result.rowCount) throw new Error(`no ${table} was copied: the fixtures have made none`)
  }

  /** Half of the posts are published; the others are in each state in which a post can wait. */
  async #posts(): Promise<void> {
    const count = this.#many(200_000)
    const status = `(array['published', 'published', 'published', 'published', 'failed', 'draft', 'in_review', 'ready',
      'scheduled', 'scheduled'])[1 + k % 10]`
    const isOpen = `k % 10 in (8, 9)`
    const at = `case when ${isOpen} then now() + make_interval(secs => k * ${(365 * DAYS) / count})
      when k % 10 < 5 then ${within(730, count)} end`
    const dated = { created_at: within(730, count), updated_at: within(730, count) }
    const approval = `case when k % 10 in (6, 7) then
      jsonb_build_object('status', case k % 10 when 6 then 'open' else 'ready' end, 'stage', 1) end`
    await this.#copy('posts', this.#own, count, {
      id: idOf(within(730, count)),
      status,
      scheduled_at: at,
      approval,
      labels: `array['label' || k % 50]`,
      search_text: `'post ' || md5(k::text)`,
      batch_id: 'null',
      series_id: 'null',
      deleted_at: 'null',
      ...dated,
    })
    await this.#client.query(
      `create temp table copied as select id, status, scheduled_at, created_at, row_number() over (order by id) as number
       from posts where ${this.#own} and search_text like 'post %'`,
    )
    await this.#client.query('create unique index on copied (number)')
    const of = 'join copied c on c.number = k'
    for (const part of [1, 2, 3]) {
      await this.#copy(
        'post_targets',
        this.#own,
        count,
        {
          id: idOf('c.created_at'),
          post_id: 'c.id',
          account_id: part === 1 ? 't.account_id' : `md5('${part}')::uuid`,
          status: 'c.status',
          scheduled_at: 'c.scheduled_at',
          attempt_id: 'null',
          lease_until: 'null',
          next_attempt_at: 'null',
        },
        of,
      )
    }
    const version = { id: idOf('c.created_at'), post_id: 'c.id', version: '1', created_at: 'c.created_at' }
    await this.#copy('post_versions', this.#own, count, version, of)
  }

  async #assets(): Promise<void> {
    const count = this.#many(300_000)
    const dated = { created_at: within(365, count), updated_at: within(365, count) }
    await this.#copy('asset_files', this.#own, count, {
      id: idOf(within(365, count)),
      sha256: `md5(k::text)`,
      ...USED_ONCE,
      ...dated,
    })
    await this.#copyAssets(`where ${this.#own} and length(sha256) = 32`)
  }

  /** An asset for each file. */
  async #copyAssets(where: string): Promise<void> {
    const { rows } = await this.#client.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = 'assets'::regclass and attname in ('kind', 'size')`,
    )
    const ofFile = rows.map(({ name }) => `, ${name}`).join('')
    await this.#client.query(
      `insert into assets (id, workspace_id, file_id, name, alt_text, tags, uploaded_by, version, created_at, updated_at${ofFile})
       select ${idOf('created_at')}, workspace_id, id, 'Picture ' || k || '.png', 'A picture of ' || md5(k::text),
         array['tag' || k % 200], '${this.#filling.userId}', 1, created_at, updated_at${ofFile}
       from (select *, row_number() over (order by id) as k from asset_files ${where}) f`,
    )
  }

  async #chat(): Promise<void> {
    const { ownerId, userId } = this.#filling
    const count = this.#many(2_000_000)
    const at = within(365, count)
    await this.#copy('channels', `${this.#own} and kind = 'channel'`, CHANNELS, {
      id: idOf(within(365, CHANNELS)),
      name: `'bench-' || k`,
      private: 'false',
      archived_at: 'null',
    })
    await this.#client.query(
      `create temp table bench_channels as select id, row_number() over (order by id) as number
       from channels where ${this.#own} and name like 'bench-%'`,
    )
    // Members have been there since before the first message.
    await this.#client.query(`update workspace_members set joined_at = now() - interval '2 years' where ${this.#own}`)
    const inChannel = `join bench_channels c on c.number = 1 + k % ${CHANNELS}`
    await this.#copy(
      'chat_messages',
      this.#own,
      count,
      {
        id: idOf(at),
        channel_id: 'c.id',
        seq: `k / ${CHANNELS} + 1`,
        created_at: at,
        client_id: 'null',
        author_id: `case when k % 4 < 2 then '${userId}'::uuid else '${ownerId}'::uuid end`,
        body: `'message ' || md5(k::text)`,
        reply_to: 'null',
        deleted_at: 'null',
        pinned_at: 'null',
      },
      inChannel,
    )
    await this.#copy(
      'chat_log',
      `channel_id in (select id from channels where ${this.#own})`,
      count,
      { channel_id: 'c.id', seq: `k / ${CHANNELS} + 1`, message_id: 'null', data: 'null', at },
      inChannel,
    )
    await this.#client.query('drop table bench_channels')
  }

  async #logs(): Promise<void> {
    const { userId } = this.#filling
    const mine = `user_id = '${userId}'`
    const count = this.#many(1_000_000)
    const at = within(365, count)
    await this.#copy('audit_log', this.#own, count, { id: idOf(at), created_at: at, actor_id: `'${userId}'` })
    await this.#copy('workspace_events', this.#own, count, { seq: 'k + 1000000', at: within(10, count) })
    await this.#copy('notifications', mine, count, {
      id: idOf(at),
      group_key: 'null',
      created_at: at,
      latest_at: at,
      read_at: at,
    })
  }

  async #jobs(): Promise<void> {
    const count = this.#many(500_000)
    const at = within(1, count)
    await this.#client.query(
      `insert into finished_jobs (id, name, queue, workspace_id, attempts, run_at, started_at, finished_at, created_at)
       select ${idOf(at)}, 'posts.publish', 'publishing', '${this.#filling.workspaceId}', 1, ${at}, ${at}, ${at}, ${at}
       from generate_series(1, ${count}) k`,
    )
    // One for each scheduled post.
    await this.#client.query(
      `insert into outbox (id, name, queue, workspace_id, data, state, run_at, attempts, added, created_at, updated_at)
       select ${idOf('created_at')}, 'posts.publish', 'publishing', '${this.#filling.workspaceId}',
         jsonb_build_object('targetId', id), 'waiting', scheduled_at, 0, 0, created_at, created_at
       from (select *, number as k from copied where status = 'scheduled') c`,
    )
  }

  /** Tickets of as many users, of which each tenth is still open. */
  async #tickets(): Promise<void> {
    const count = this.#many(100_000)
    const at = within(730, count)
    await this.#copy('support_tickets', `user_id = '${this.#filling.userId}'`, count, {
      id: idOf(at),
      user_id: `md5(k::text)::uuid`,
      status: `case when k % 10 = 0 then 'open' else 'closed' end`,
      first_response_at: `${at} + interval '1 hour'`,
      resolved_at: `case when k % 10 > 0 then ${at} + interval '1 day' end`,
      closed_at: `case when k % 10 > 0 then ${at} + interval '2 days' end`,
      created_at: at,
      updated_at: at,
    })
  }

  /** Half of the posts have figures, each of two kinds, on five days. */
  async #analytics(): Promise<void> {
    const count = this.#many(100_000)
    const at = within(730, count)
    await this.#copy('analytics_content', this.#own, count, {
      id: idOf(at),
      remote_id: `'bench-' || k`,
      post_id: 'null',
      target_id: 'null',
      published_at: at,
      next_at: 'null',
      created_at: at,
    })
    await this.#client.query(
      `insert into analytics_series (account_id, content_id, subject_id, figure, from_zero)
       select account_id, id, id, figure, true from analytics_content, unnest(array['likes', 'comments']) figure
       where ${this.#own} and remote_id like 'bench-%'`,
    )
    await this.#client.query(
      `insert into analytics_days (series_id, day, value, gained)
       select s.id, (extract(epoch from c.published_at) / ${DAYS})::integer + n, n, 1
       from analytics_series s join analytics_content c on c.id = s.content_id, generate_series(1, 5) n
       where c.remote_id like 'bench-%'`,
    )
    await this.#client.query(
      `insert into analytics_account_days (account_id, figure, day, gained, content_count)
       select a.account_id, figure, (extract(epoch from now()) / ${DAYS})::integer - n, n, 1
       from analytics_accounts a, unnest(array['likes', 'comments']) figure, generate_series(1, 730) n
       where ${this.#own} on conflict do nothing`,
    )
    await this.#client.query('drop table copied')
  }

  /** Small workspaces with an owner, a channel and a few rows each. */
  async #smallWorkspaces(): Promise<void> {
    const { userId, workspaceId } = this.#filling
    const count = this.#many(SMALL_WORKSPACES)
    const at = within(365, count)
    const dated = { created_at: at, updated_at: at }
    await this.#copy('users', `id = '${userId}'`, count, {
      id: idOf(at),
      email: `'bench-' || k || '@example.com'`,
      name: `'Person ' || md5(k::text)`,
      is_admin: 'false',
      picture_id: 'null',
      ...dated,
    })
    await this.#client.query(
      `create temp table people as select id, row_number() over (order by id) as number from users
       where email like 'bench-%'`,
    )
    await this.#copy(
      'workspaces',
      `id = '${workspaceId}'`,
      count,
      { id: idOf(at), owner_id: 'p.id', ...dated },
      'join people p on p.number = k',
    )
    await this.#client.query(
      `create temp table others as select w.id, w.owner_id, p.number from workspaces w join people p on p.id = w.owner_id`,
    )
    await this.#client.query('create unique index on others (number)')
    const inEach = (rows: number) => `join others o on o.number = 1 + k / ${rows}`
    const mine = (rows: number): Changes => ({ id: idOf(within(365, count * rows)), workspace_id: 'o.id' })
    await this.#copy(
      'workspace_members',
      this.#own,
      count,
      { workspace_id: 'o.id', user_id: 'o.owner_id', role: `'owner'`, role_id: 'null' },
      inEach(1),
    )
    await this.#copy('posts', `${this.#own} and search_text like 'post %'`, count * 5, mine(5), inEach(5))
    await this.#copy('audit_log', this.#own, count * 10, { ...mine(10), actor_id: 'o.owner_id' }, inEach(10))
    await this.#copy(
      'asset_files',
      this.#own,
      count * 5,
      { ...mine(5), sha256: `'other-' || k`, ...USED_ONCE },
      inEach(5),
    )
    await this.#copyAssets(`where sha256 like 'other-%'`)
    await this.#copy(
      'channels',
      `${this.#own} and name like 'bench-%'`,
      count,
      { ...mine(1), name: `'general'` },
      inEach(1),
    )
    await this.#client.query(
      `create temp table their_channels as select c.id, c.workspace_id, o.owner_id, o.number
       from channels c join others o on o.id = c.workspace_id`,
    )
    await this.#copy(
      'chat_messages',
      this.#own,
      count * 10,
      {
        ...mine(10),
        workspace_id: 'o.workspace_id',
        channel_id: 'o.id',
        author_id: 'o.owner_id',
        seq: 'k % 10 + 1',
        client_id: 'null',
      },
      `join their_channels o on o.number = 1 + k / 10`,
    )
    await this.#client.query('drop table people, others, their_channels')
  }
}
