/**
 * A fast handwritten server for two routes of posts, on the same driver and tables: uWebSockets.js, pg with prepared
 * statements, and stored JSON for lists. It has one API key and no plans, limits, turns, events, audit entries or rules
 * of platforms.
 *
 * `DATABASE_URL=… API_KEY=… node handwritten-posts.ts <port>`
 */
import { Pool } from 'pg'
import { Compile } from 'typebox/compile'
import { App, type HttpResponse } from 'uWebSockets.js'
import { uuidv7 } from '../../../src/tools/id.ts'
import { NewPost } from '../../../src/domains/publishing/posts/schemas.ts'
import { failed, guarded, onBody, send, type Gone } from './plumbing.ts'

const [port] = process.argv.slice(2)
const pool = new Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10, options: '-c timezone=UTC' })
const checkBody = Compile(NewPost)

const LIST = {
  name: 'list',
  text: `select id, view->>'createdAt' as at, view::text as view from posts
    where workspace_id = $1 and deleted_at is null order by id desc limit $2`,
}
const ACCOUNTS = {
  name: 'accounts',
  text: `select id, platform, status from social_accounts where workspace_id = $1 and id = any($2)`,
}
const CREATE = {
  name: 'create',
  text: `with post as (
      insert into posts (id, workspace_id, status, body, late_minutes, platforms, account_ids, version, view, search_text,
        created_by, created_at, updated_at)
      values ($1, $2, 'draft', $3, 60, $4, $5, 1, $6, $7, $8, $9, $9) returning id
    ), version as (
      insert into post_versions (id, workspace_id, post_id, version, snapshot, author_id, kind, created_at)
      select $10, $2, id, 1, $11, $8, 'created', $9 from post
    )
    insert into post_targets (id, workspace_id, post_id, position, account_id, platform, status, own_time, created_at, updated_at)
    select t.id, $2, post.id, t.position - 1, t.account_id, t.platform, 'draft', false, $9, $9
    from post, unnest($12::uuid[], $5::uuid[], $13::text[]) with ordinality as t (id, account_id, platform, position)`,
}

async function listPosts(response: HttpResponse, gone: Gone, workspaceId: string): Promise<void> {
  const { rows } = await pool.query<{ id: string; at: string; view: string }>({ ...LIST, values: [workspaceId, 21] })
  const shown = rows.slice(0, 20)
  const last = rows.length > 20 ? shown.at(-1) : undefined
  const nextCursor = last === undefined ? null : Buffer.from(`${last.at}|${last.id}`).toString('base64url')
  const pagination = JSON.stringify({ limit: 20, hasMore: last !== undefined, nextCursor })
  const data = shown.map(({ view }) => view).join(',')
  send(response, gone, '200 OK', `{"status":true,"message":"Posts","pagination":${pagination},"data":[${data}]}`)
}

interface NewPostBody {
  readonly workspaceId: string
  readonly content: string
  readonly targets: readonly { readonly accountId: string }[]
}

async function createPost(response: HttpResponse, gone: Gone, body: unknown): Promise<void> {
  if (!checkBody.Check(body)) return send(response, gone, '400 Bad Request', '{}')
  const { content, targets, workspaceId } = body as NewPostBody
  const ids = targets.map(({ accountId }) => accountId)
  const accounts = await pool.query<{ id: string; platform: string }>({ ...ACCOUNTS, values: [workspaceId, ids] })
  const platforms = new Map(accounts.rows.map(({ id, platform }) => [id, platform]))
  if (platforms.size < ids.length) return send(response, gone, '400 Bad Request', '{}')
  const now = Date.now()
  const at = new Date(now).toISOString()
  const id = uuidv7(now)
  const written = { content, title: null, link: null, media: [], thread: [], firstComment: null, tags: [] }
  const times = { scheduledFor: null, localTime: null, timezone: null, timeAdjustment: null }
  const made = targets.map(({ accountId }) => ({
    _id: uuidv7(now),
    createdAt: at,
    updatedAt: at,
    accountId,
    platform: platforms.get(accountId) ?? '',
    status: 'draft',
    statusReason: null,
    override: null,
    ...times,
    attemptCount: 0,
    nextAttemptAt: null,
    publishedVersion: null,
    publishedAt: null,
    remoteId: null,
    url: null,
    remoteDeletedAt: null,
  }))
  const author = process.env['USER_ID'] ?? ''
  const post = {
    _id: id,
    createdAt: at,
    updatedAt: at,
    workspaceId,
    version: 1,
    status: 'draft',
    ...written,
    labels: [],
    ...times,
    lateMinutes: 60,
    batchId: null,
    seriesId: null,
    occurrence: null,
    ideaId: null,
    createdBy: author,
    approval: null,
    textOrigin: null,
    targets: made,
  }
  const view = JSON.stringify(post)
  const names = made.map(({ platform }) => platform)
  const snapshot = { ...written, labels: [], targets: made.map(({ accountId }) => ({ accountId, override: null })) }
  await pool.query({
    ...CREATE,
    values: [
      id,
      workspaceId,
      JSON.stringify(written),
      [...new Set(names)],
      ids,
      view,
      content,
      author,
      at,
      uuidv7(now),
      JSON.stringify(snapshot),
      made.map(({ _id }) => _id),
      names,
    ],
  })
  send(response, gone, '201 Created', `{"status":true,"message":"Post created","data":${view}}`)
}

App()
  .get('/api/posts', (response, request) => {
    const gone = guarded(response, request.getHeader('x-api-key'))
    if (gone) listPosts(response, gone, request.getQuery('workspaceId') ?? '').catch(failed(response, gone))
  })
  .post('/api/posts', (response, request) => {
    const gone = guarded(response, request.getHeader('x-api-key'))
    if (gone) onBody(response, (body) => void createPost(response, gone, body).catch(failed(response, gone)))
  })
  .listen('127.0.0.1', Number(port), () => console.log('ready'))
