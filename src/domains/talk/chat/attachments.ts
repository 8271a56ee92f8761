import { safeFileName } from '../../../content/file-name.ts'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Caller, Member } from '../../../core/caller.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { file } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Upload } from '../../../core/upload.ts'
import { anyOf, lessThan } from '../../../db/condition.ts'
import { deleteInBatches } from '../../../db/delete-in-batches.ts'
import { query } from '../../../db/query.ts'
import type { Row } from '../../../db/row.ts'
import { contentOf } from '../../../storage/stored-file.ts'
import type { Storage } from '../../../storage/storage.ts'
import { visibleTo } from './channel-row.ts'
import { EmptyAttachment } from './errors.ts'
import type { AttachmentData } from './schemas.ts'
import { chatAttachments, chatTables, type ChatAttachment } from './tables.ts'

/** Maximum size of one file in bytes. */
export const MAX_ATTACHMENT_BYTES = 5 * 1024 * 1024

/** How long a file is kept before a message with it is sent. */
const LOOSE_MS = DAY

/** Types that a browser shows without running scripts. It downloads all others. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])

type AttachmentRow = Pick<Row<typeof ChatAttachment>, 'id' | 'workspaceId' | 'name' | 'type' | 'size' | 'createdAt'>

/** Only the uploader sees a file before its message is sent. After that, everyone who may see the message does. */
const readable = query(chatTables, (db, $: { workspaceId: string; userId: string; id: string }) =>
  db
    .selectFrom('chatAttachments as a')
    .leftJoin('chatMessages as m', 'm.id', 'a.messageId')
    .leftJoin('channels as c', 'c.id', 'm.channelId')
    .select(['a.id', 'a.workspaceId', 'a.name', 'a.type', 'a.size', 'a.createdAt'])
    .where('a.workspaceId', '=', $.workspaceId)
    .where('a.id', '=', $.id)
    .where((e) =>
      e.or([
        e.and([e('a.messageId', 'is', null), e('a.uploadedBy', '=', $.userId)]),
        e.and([e('a.messageId', 'is not', null), visibleTo($.userId)]),
      ]),
    ),
)

/** Files of messages. The type of a file is detected from its content, never from its name. */
export class ChatAttachments {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #storage: Storage

  constructor(sql: Sql, clock: Clock, storage: Storage) {
    this.#sql = sql
    this.#clock = clock
    this.#storage = storage
  }

  /** Stores a file. It is kept for a day unless a message with it is sent. @throws AppError empty_attachment, storage_full, … */
  async take({ userId, workspaceId }: Member, upload: Upload): Promise<AttachmentData> {
    // At most 5 MB are held in memory: the type must be known before the file is stored.
    const content = await buffer(upload.stream)
    if (content.length === 0) throw EmptyAttachment()
    const { fileTypeFromBuffer } = await import('file-type')
    const found = await fileTypeFromBuffer(content)
    const now = this.#clock.now()
    const row = {
      id: uuidv7(now),
      workspaceId,
      uploadedBy: userId,
      name: safeFileName(upload.name),
      type: found?.mime ?? (isText(content) ? 'text/plain; charset=utf-8' : 'application/octet-stream'),
      size: content.length,
      createdAt: new Date(now).toISOString(),
    }
    await this.#storage.put(keyOf(row), Readable.from([content], { objectMode: false }), { type: row.type })
    await chatAttachments.insert(this.#sql, row)
    return view(row)
  }

  /** The files of a message that is being sent, in the order of `ids`. @throws AppError validation_failed */
  async ofMessage(turn: Turn, caller: Caller, ids: readonly string[]): Promise<AttachmentData[]> {
    if (ids.length === 0) return []
    const rows = await chatAttachments.find(turn.sql, {
      workspaceId: turn.workspaceId,
      uploadedBy: caller.userId,
      id: anyOf(ids),
      messageId: null,
    })
    const known = new Map(rows.map((row) => [row.id, view(row)]))
    const errors = ids.flatMap((id, index) =>
      known.has(id)
        ? []
        : [
            {
              path: `/body/attachments/${index}`,
              code: 'unknown',
              message: 'must be a file that you uploaded and have not sent yet',
            },
          ],
    )
    if (errors.length > 0) throw ValidationFailed({ errors })
    return ids.flatMap((id) => known.get(id) ?? [])
  }

  /** Attaches files to a message whose row was inserted. */
  async bind(turn: Turn, messageId: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await chatAttachments.update(turn.sql, { id: anyOf(ids) }, { messageId })
  }

  /** @throws AppError not_found, also when the caller may not see the message */
  async file({ userId, workspaceId }: Member, id: string) {
    const row = await readable.row(this.#sql, { workspaceId, userId, id })
    if (row === undefined) throw NotFound()
    return file({
      contentType: row.type,
      size: row.size,
      etag: row.id,
      name: row.name,
      disposition: SHOWN.has(row.type) ? 'inline' : 'attachment',
      modifiedAt: row.createdAt,
      cache: 'private, max-age=3600',
      open: contentOf(this.#storage, keyOf(row)),
    })
  }

  /** Deletes the rows of files that were never sent. The storage sweep deletes their files. */
  async forgetLoose(): Promise<number> {
    const before = new Date(this.#clock.now() - LOOSE_MS)
    return deleteInBatches(chatAttachments, this.#sql, { messageId: null, createdAt: lessThan(before) })
  }
}

/** Which of some files are attachments, sent or not. */
export async function findAttachments(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await chatAttachments.find(sql, { id: anyOf(ids) }, { columns: ['id'] })
  return rows.map(({ id }) => id)
}

function keyOf(row: Pick<AttachmentRow, 'id' | 'workspaceId'>): string {
  return `${row.workspaceId}/${row.id}`
}

function view(row: AttachmentRow): AttachmentData {
  return {
    _id: row.id,
    name: row.name,
    url: `/api/team/${row.workspaceId}/chat/attachments/${row.id}`,
    fileType: row.type,
    size: row.size,
  }
}

/** Whether bytes are UTF-8 text without null bytes. */
function isText(content: Buffer): boolean {
  if (content.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content)
    return true
  } catch {
    return false
  }
}
