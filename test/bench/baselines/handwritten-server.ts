/**
 * A fast handwritten server for two routes, on the same driver and tables: uWebSockets.js, pg with prepared statements,
 * and a compiled body check and serializers from the same schemas. It has one API key, does not check membership, limits,
 * plan or idempotency key, and writes no event, audit entry or log line.
 *
 * `DATABASE_URL=… API_KEY=… INGEST_URL=… node handwritten-server.ts <port>`
 */
import { randomBytes } from 'node:crypto'
import { Pool, types } from 'pg'
import { Compile } from 'typebox/compile'
import { App, type HttpResponse } from 'uWebSockets.js'
import { sha256, uuidv7 } from '../../../src/tools/id.ts'
import { isoTimestamp } from '../../../src/db/prepared-sql.ts'
import { Envelope, ListOf } from '../../../src/core/schema.ts'
import { NewStream, StreamView } from '../../../src/domains/live/streams/schemas.ts'
import { compileSerializer } from '../../../src/http/serialize.ts'
import { failed, guarded, onBody, send, type Gone } from './plumbing.ts'

const [port] = process.argv.slice(2)
const INGEST_URL = process.env['INGEST_URL'] ?? ''

types.setTypeParser(types.builtins.TIMESTAMPTZ, isoTimestamp)
const pool = new Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10, options: '-c timezone=UTC' })

const writeList = compileSerializer(ListOf(StreamView))
const writeStream = compileSerializer(Envelope(StreamView))
const checkBody = Compile(NewStream)

const LIST = {
  name: 'list',
  text: `select s.id as "_id", s.workspace_id as "workspaceId", s.title, s.description, s.status,
      s.status_reason as "endReason", s.status_since as "statusSince",
      case when s.ingest_node is null then null else s.unconfirmed_since end as "unconfirmedSince",
      s.scheduled_for as "scheduledFor", s.live_at as "liveAt", s.record,
      s.record_gaps as "recordGaps", s.slate, s.hold_seconds as "holdSeconds",
      s.input_preference as "inputPreference", s.input_selected as "inputSelected", s.profile, s.version,
      s.created_at as "createdAt", s.updated_at as "updatedAt",
      (select json_agg(json_build_object('_id', d.id, 'platform', d.platform, 'accountId', d.account_id, 'name', d.name,
        'enabled', d.enabled, 'status', d.status,
        'since', to_char(d.since at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'lastError', d.last_error,
        'rendering', d.rendering) order by d.id)
        from stream_destinations d where d.stream_id = s.id) as platforms
    from streams s where s.workspace_id = $1 order by s.created_at desc, s.id desc limit $2`,
}
const NO_SLATE = { mode: 'off', assetId: null }

const CREATE = {
  name: 'create',
  text: `insert into streams (id, workspace_id, title, description, status, status_since, path, key_hash, key_sealed, key_expires_at,
      backup_key_hash, backup_key_sealed, record, profile, version, created_at, updated_at)
    values ($1, $2, $3, $4, 'idle', $5, $6, $7, $8, $9, $10, $11, false, 'source', 1, $5, $5)`,
}

interface ListedRow {
  readonly _id: string
  readonly createdAt: string
  readonly slate: object | null
  readonly platforms: object[] | null
}

async function listStreams(response: HttpResponse, gone: Gone, workspaceId: string): Promise<void> {
  const { rows } = await pool.query({ ...LIST, values: [workspaceId, 21] })
  const data = rows.slice(0, 20).map((row: ListedRow) => ({
    ...row,
    rtmpIngestUrl: INGEST_URL,
    slate: row.slate ?? NO_SLATE,
    platforms: row.platforms ?? [],
  }))
  const last = rows.length > 20 ? (data.at(-1) as ListedRow) : undefined
  const nextCursor = last === undefined ? null : Buffer.from(`${last.createdAt}|${last._id}`).toString('base64url')
  const pagination = { limit: 20, hasMore: last !== undefined, nextCursor }
  send(response, gone, '200 OK', writeList({ status: true, message: 'Streams', data, pagination }))
}

async function createStream(response: HttpResponse, gone: Gone, body: unknown): Promise<void> {
  if (!checkBody.Check(body)) return send(response, gone, '400 Bad Request', '{}')
  const input = body as { workspaceId: string; title: string; description?: string }
  const now = new Date()
  const at = now.toISOString()
  const id = uuidv7(now.getTime())
  const path = randomBytes(8).toString('hex')
  const key = `${path}-${randomBytes(16).toString('hex')}`
  const backup = `${path}-${randomBytes(16).toString('hex')}`
  const expires = new Date(now.getTime() + 86_400_000)
  await pool.query({
    ...CREATE,
    values: [
      id,
      input.workspaceId,
      input.title,
      input.description ?? '',
      now,
      path,
      sha256(key),
      key,
      expires,
      sha256(backup),
      backup,
    ],
  })
  const data = {
    _id: id,
    workspaceId: input.workspaceId,
    title: input.title,
    description: input.description ?? '',
    status: 'idle',
    endReason: null,
    statusSince: at,
    unconfirmedSince: null,
    rtmpIngestUrl: INGEST_URL,
    streamKey: key,
    backupStreamKey: backup,
    streamKeyExpiresAt: expires.toISOString(),
    platforms: [],
    scheduledFor: null,
    liveAt: null,
    record: false,
    recordGaps: 'cut',
    slate: NO_SLATE,
    holdSeconds: 60,
    inputPreference: 'primary',
    inputSelected: null,
    profile: 'source',
    version: 1,
    createdAt: at,
    updatedAt: at,
  }
  send(response, gone, '201 Created', writeStream({ status: true, message: 'Stream created', data }))
}

App()
  .get('/api/streams', (response, request) => {
    const gone = guarded(response, request.getHeader('x-api-key'))
    if (gone) listStreams(response, gone, request.getQuery('workspaceId') ?? '').catch(failed(response, gone))
  })
  .post('/api/streams', (response, request) => {
    const gone = guarded(response, request.getHeader('x-api-key'))
    if (gone) onBody(response, (body) => void createStream(response, gone, body).catch(failed(response, gone)))
  })
  .listen('127.0.0.1', Number(port), () => console.log('ready'))
