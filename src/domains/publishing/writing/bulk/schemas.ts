import {
  Id,
  Input,
  Judged,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../../core/schema.ts'
import { MAX_BYTES as MAX_CSV_BYTES } from '../csv/decode.ts'
import { MAX_ROWS } from '../csv/import.ts'
import {
  newPostFields,
  PostListFilter,
  PostView,
  PostWarning,
  RecurrenceInput,
  TargetStatusSchema,
} from '../../posts/index.ts'

/** The largest JSON body of an import, in bytes. */
export const MAX_IMPORT_BYTES = 8_000_000

/** A post of a bulk request: the body of createPost without the workspace. */
export const BulkPost = Input({ ...newPostFields, recurrence: Type.Optional(RecurrenceInput) })
export type BulkPostInput = Static<typeof BulkPost>

const options = {
  workspaceId: Id,
  dryRun: Type.Optional(Type.Boolean({ description: 'Stores nothing, and replies with what each row would become' })),
  partial: Type.Optional(
    Type.Boolean({ description: 'Creates the posts of valid rows even if other rows are refused' }),
  ),
}

const sheetOptions = {
  dateOrder: Type.Optional(
    OneOf(['dmy', 'mdy'] as const, {
      description: 'The order of day and month in dates with slashes. Ambiguous dates are refused without it',
    }),
  ),
}

export const BulkPosts = Input(
  {
    ...options,
    posts: Type.Optional(Judged(BulkPost, { minItems: 1, maxItems: MAX_ROWS })),
    csv: Type.Optional(Text(1, MAX_CSV_BYTES, { description: 'The text of a CSV file' })),
    ...sheetOptions,
  },
  { description: 'Either `posts` or `csv`' },
)

export const ImportFields = Input({ ...options, ...sheetOptions })

const RowError = Type.Object({
  code: Type.String({ description: 'A stable word for programs' }),
  message: Type.String(),
  path: Nullable(Type.String({ description: 'JSON pointer into the post. Null if the whole row is meant' })),
  column: Nullable(
    Type.String({ description: 'The column of the sheet. Null for JSON, and if the whole row is meant' }),
  ),
})

export const BulkRow = named(
  'BulkRow',
  Type.Object({
    row: Type.Integer({
      description: 'The number of the row in the sheet, where the header is row 1. In JSON, the position from 1 on',
    }),
    status: States('BulkRowStatus', 'The verdict on a row', {
      created: 'The post was created',
      valid: 'The post would be created',
      refused: 'The post cannot be created. `errors` say why',
    }),
    postId: Nullable(Type.String({ ...Id, description: 'The post that was created' })),
    scheduledFor: Nullable(Timestamp),
    localTime: Nullable(Type.String({ description: 'The clock time of `scheduledFor` in `timezone`' })),
    timezone: Nullable(Type.String({ description: 'IANA time zone' })),
    errors: Type.Array(RowError),
    warnings: Type.Array(PostWarning, {
      description: 'What is unusual about the post, compared with posts that are there and with other rows',
    }),
  }),
)
export type BulkRowData = Static<typeof BulkRow>

export const BulkResult = Type.Object({
  batchId: Nullable(Type.String({ ...Id, description: 'The batch of the posts. Null for a dry run' })),
  createdCount: Type.Integer({ description: 'Posts that were created' }),
  refusedCount: Type.Integer({ description: 'Rows that were refused' }),
  notes: Type.Array(Type.String(), { description: 'What is unusual about the file, such as its encoding' }),
  rows: Type.Array(BulkRow, { description: 'Every row, in order' }),
})
export type BulkResultData = Static<typeof BulkResult>

const batchFields = {
  ...ResourceBase,
  workspaceId: Id,
  rowCount: Type.Integer({ description: 'Rows of the request' }),
  createdCount: Type.Integer({ description: 'Posts that were created' }),
  createdBy: Type.String({ ...Id, description: 'The user who sent the request' }),
  undoneAt: Nullable(Type.String({ format: 'date-time', description: 'When its posts were deleted together' })),
}

export const BatchView = named(
  'PostBatch',
  Type.Object({
    ...batchFields,
    postCounts: Type.Array(Type.Object({ status: TargetStatusSchema, count: Type.Integer() }), {
      description: 'How many posts have each status now, without deleted ones',
    }),
  }),
)
export type BatchData = Static<typeof BatchView>

export const BatchWithPosts = Type.Object({
  ...batchFields,
  posts: Type.Array(PostView, { description: 'In the order of their times; posts without a time come last' }),
})

export const BatchPath = Input({ batchId: Id })

export const UndoneBatch = Type.Object({
  deletedCount: Type.Integer({ description: 'Posts that were deleted' }),
  kept: Type.Array(Type.Object({ postId: Id, status: TargetStatusSchema }), {
    description: 'Posts that were kept, because they are published at an account, or are being published',
  }),
})

export const ExportQuery = Input({
  ...PostListFilter,
  format: Type.Optional(OneOf(['csv', 'json'] as const, { description: 'csv by default' })),
})
