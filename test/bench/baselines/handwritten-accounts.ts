/**
 * A fast handwritten server for two reads of social accounts, on the same driver and tables: uWebSockets.js and pg with
 * prepared statements. PostgreSQL writes the JSON of the list. The rules of the platform are one constant text. It has
 * one API key and no memberships, limits or live replies.
 *
 * `DATABASE_URL=… API_KEY=… PLATFORM_START=… ACCOUNT=… node handwritten-accounts.ts <port>`
 */
import { Pool } from 'pg'
import { App, type HttpResponse } from 'uWebSockets.js'
import { failed, guarded, send, type Gone } from './plumbing.ts'

const [port] = process.argv.slice(2)
const pool = new Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10, options: '-c timezone=UTC' })
/** The reply of getPlatform up to the value of `account`. */
const platformStart = process.env['PLATFORM_START'] ?? ''
/** What the account can do, without what the rows of the account say. */
const known = JSON.parse(process.env['ACCOUNT'] ?? '{}') as object

const time = (column: string) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const LIST = {
  name: 'list',
  text: `select id, ${time('created_at')} as at, json_build_object('_id', id, 'createdAt', ${time('created_at')},
      'updatedAt', ${time('updated_at')}, 'workspaceId', workspace_id, 'platform', platform, 'remoteId', remote_id,
      'loginAccountId', login_id, 'name', name, 'handle', handle, 'avatarUrl', avatar_url, 'url', url, 'kind', kind,
      'status', status, 'statusMessage', status_reason, 'scopes', scopes, 'missingScopes', to_json(missing_scopes),
      'expiresAt', ${time('expires_at')}, 'sandbox', sandbox, 'connectedAt', ${time('connected_at')},
      'checkedAt', ${time('checked_at')}, 'removedAt', ${time('removed_at')})::text as view
    from social_accounts where workspace_id = $1 and status <> 'removed' order by id desc limit $2`,
}
const ACCOUNT = {
  name: 'account',
  text: `select a.status, ${time('r.capabilities_at')} as at, r.capabilities, r.budgets, r.error from social_accounts a
    left join social_account_reports r on r.account_id = a.id where a.id = $1`,
}

async function listAccounts(response: HttpResponse, gone: Gone, workspaceId: string, limit: number): Promise<void> {
  const { rows } = await pool.query<{ id: string; at: string; view: string }>({
    ...LIST,
    values: [workspaceId, limit + 1],
  })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  const nextCursor = last === undefined ? null : Buffer.from(`${last.at}|${last.id}`).toString('base64url')
  const pagination = JSON.stringify({ limit, hasMore: last !== undefined, nextCursor })
  const data = shown.map(({ view }) => view).join(',')
  send(
    response,
    gone,
    '200 OK',
    `{"status":true,"message":"Social accounts","pagination":${pagination},"data":[${data}]}`,
  )
}

async function getPlatform(response: HttpResponse, gone: Gone, id: string): Promise<void> {
  const { rows } = await pool.query<{ status: string; at: string }>({ ...ACCOUNT, values: [id] })
  const account = { ...known, accountId: id, status: rows[0]?.status, checkedAt: rows[0]?.at }
  send(response, gone, '200 OK', `${platformStart}${JSON.stringify(account)}}}`)
}

App()
  .get('/api/social-accounts', (response, request) => {
    const gone = guarded(response, request.getHeader('x-api-key'))
    if (gone === undefined) return
    const limit = Number(request.getQuery('limit'))
    listAccounts(response, gone, request.getQuery('workspaceId') ?? '', limit).catch(failed(response, gone))
  })
  .get('/api/platforms/:platform', (response, request) => {
    const gone = guarded(response, request.getHeader('x-api-key'))
    if (gone) getPlatform(response, gone, request.getQuery('accountId') ?? '').catch(failed(response, gone))
  })
  .listen('127.0.0.1', Number(port), () => console.log('ready'))
