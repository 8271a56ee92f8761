import { buffer } from 'node:stream/consumers'
import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Conflict, NotFound, PlanLimit, ValidationFailed } from '../../../../core/errors.ts'
import { MAX_JSON_MARKS } from '../../../../tools/json-size.ts'
import { from, operation, owner } from '../../../../core/operation.ts'
import { pageFields, pageRequest } from '../../../../core/page.ts'
import { file, FILE, list, ok } from '../../../../core/reply.ts'
import { Envelope, Id, Input, ListOf } from '../../../../core/schema.ts'
import { describeColumns } from '../csv/columns.ts'
import { MAX_BYTES as MAX_CSV_BYTES } from '../csv/decode.ts'
import { BulkRefused } from '../../posts/index.ts'
import { bulkReply, exportFile } from './replies.ts'
import {
  BatchPath,
  BatchView,
  BatchWithPosts,
  BulkPosts,
  BulkResult,
  ExportQuery,
  ImportFields,
  MAX_IMPORT_BYTES,
  UndoneBatch,
} from './schemas.ts'
import { importFile } from './turns.ts'
import { urlsInRequest } from './urls.ts'

const { accountId, batchId, workspaceId } = EXAMPLE
const PATH = { path: { batchId } }
const RULES =
  'All posts are created, or none. With `partial`, those of valid rows are created. With `dryRun`, nothing is stored. If posts are refused, `details.rows` of the error has every row with its verdict.'

export const createPostsBulk = operation({
  route: 'POST /api/posts/bulk',
  summary: 'Create many posts',
  description: `Up to 500 posts, as JSON or as the text of a CSV file. ${RULES} A row of JSON that does not fit the schema is refused like any other, and the rest is still checked. A time that is more than five minutes in the past is refused. What a post leaves out comes from your publishing settings, as for createPost. Files that posts name by \`url\` are added to the media library first; with \`dryRun\`, only their beginning is looked at.`,
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  turn: true,
  bodyLimit: MAX_IMPORT_BYTES,
  bodyMarks: MAX_JSON_MARKS,
  body: BulkPosts,
  returns: { 200: Envelope(BulkResult), 201: Envelope(BulkResult) },
  errors: [ValidationFailed, BulkRefused, PlanLimit],
  example: {
    body: { workspaceId, posts: [{ content: 'We are live on Friday at noon.', targets: [{ accountId }] }] },
  },
  before: async ({ body, member, writing }) =>
    writing.mediaFetcher.resolve(await urlsInRequest(body), { member, dryRun: body.dryRun === true }),
  handle: async ({ body, caller, prepared: fetched, turn, writing }) =>
    bulkReply(body.dryRun, await writing.importer.run(turn, { ...body, fetched }, caller.userId)),
})

export const importPosts = operation({
  route: 'POST /api/posts/import',
  summary: 'Create posts from a CSV file',
  description: `Up to 500 posts in UTF-8 or UTF-16, separated by commas, semicolons or tabs. The first row names the columns:\n\n${describeColumns()}\n\n${RULES} What the file leaves out comes from your publishing settings, as for createPost.`,
  access: 'posts:write',
  workspace: from.body('workspaceId'),
  body: ImportFields,
  upload: { kind: 'multipart', maxBytes: MAX_CSV_BYTES },
  returns: { 200: Envelope(BulkResult), 201: Envelope(BulkResult) },
  errors: [ValidationFailed, BulkRefused, PlanLimit],
  example: { body: { workspaceId, dryRun: true } },
  handle: async ({ body: { workspaceId: id, ...options }, caller: { userId }, member, turns, upload, writing }) => {
    const file = (await buffer(upload.stream)).toString('base64')
    const urls = await urlsInRequest({ file })
    const fetched = await writing.mediaFetcher.resolve(urls, { member, dryRun: options.dryRun === true })
    const request = { ...options, file, fetched, userId }
    return bulkReply(options.dryRun, await turns.system(id, importFile, request))
  },
})

export const listBulkBatches = operation({
  route: 'GET /api/posts/batches',
  summary: 'List batches of posts',
  description: 'A batch has the posts of one bulk request. Newest first.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: Input({ workspaceId: Id, ...pageFields }),
  returns: { 200: ListOf(BatchView) },
  example: { query: { workspaceId } },
  handle: async ({ query, writing }) =>
    list('Batches', await writing.batches.list(query.workspaceId, pageRequest(query))),
})

export const getBulkBatch = operation({
  route: 'GET /api/posts/batches/{batchId}',
  summary: 'Get a batch with its posts',
  access: 'posts:read',
  workspace: owner('post_batches', 'batchId'),
  path: BatchPath,
  returns: { 200: Envelope(BatchWithPosts) },
  errors: [NotFound],
  example: PATH,
  handle: async ({ path, writing }) => ok('Batch', await writing.batches.get(path.batchId)),
})

export const undoBulkBatch = operation({
  route: 'DELETE /api/posts/batches/{batchId}',
  summary: 'Delete the posts of a batch',
  description:
    'Deletes the posts that are not published, and names those that are kept, because an account has published them or is publishing them.',
  access: 'posts:write',
  workspace: owner('post_batches', 'batchId'),
  turn: true,
  path: BatchPath,
  returns: { 200: Envelope(UndoneBatch) },
  errors: [NotFound, Conflict],
  example: PATH,
  handle: async ({ path, turn, writing }) => ok('Posts deleted', await writing.batches.undo(turn, path.batchId)),
})

export const exportPosts = operation({
  route: 'GET /api/posts/export',
  summary: 'Export posts',
  description:
    'CSV or JSON with the filters of listPosts, newest first, at most 10,000 posts. The import makes the same posts of it; an import takes 500 at once.',
  access: 'posts:read',
  workspace: from.query('workspaceId'),
  query: ExportQuery,
  returns: { 200: FILE },
  example: { query: { workspaceId } },
  handle: async ({ query: { format = 'csv', ...filter }, writing }) =>
    file(exportFile(await writing.exporter.run(filter, format), format)),
})
