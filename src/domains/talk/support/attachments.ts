import { safeFileName } from '../../../content/file-name.ts'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { HEAD_BYTES, inspectHead, inspectWhole } from '../../../content/inspect.ts'
import type { Caller } from '../../../core/caller.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { file } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Upload } from '../../../core/upload.ts'
import { anyOf, lessThan } from '../../../db/condition.ts'
import { deleteInBatches } from '../../../db/delete-in-batches.ts'
import { query } from '../../../db/query.ts'
import { contentOf } from '../../../storage/stored-file.ts'
import type { Storage } from '../../../storage/storage.ts'
import type { TicketAttachmentData } from './schemas.ts'
import { supportAttachments, supportMessages, supportTickets, type AttachmentRow } from './tables.ts'

export const MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024

/** How long a file is kept before a message has it. */
const LOOSE_MS = DAY

/** Types that a browser shows without running scripts. It downloads all others. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])

interface Reading {
  readonly id: string
  readonly userId: string
  /** Set if the user may read all messages. */
  readonly isAdmin?: true | undefined
}

/** A file that the user has not sent yet, or whose message they may read. */
const readable = query({ supportAttachments, supportMessages, supportTickets }, (db, $: Reading) =>
  db
    .selectFrom('supportAttachments as a')
    .leftJoin('supportMessages as m', 'm.id', 'a.messageId')
    .leftJoin('supportTickets as t', 't.id', 'm.ticketId')
    .select(['a.id', 'a.messageId', 'a.userId', 'a.name', 'a.type', 'a.size', 'a.createdAt'])
    .where('a.id', '=', $.id)
    .where((e) => {
      const isLoose = e.and([e('m.id', 'is', null), e('a.userId', '=', $.userId)])
      const isShown = e.and([e('t.userId', '=', $.userId), e('m.role', '<>', 'note')])
      return e.or([isLoose, $.isAdmin === undefined ? isShown : e('m.id', 'is not', null)])
    }),
)

/** Files of tickets, with the checks of uploads: their type is judged by their content. */
export class TicketAttachments {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #storage: Storage

  constructor(sql: Sql, clock: Clock, storage: Storage) {
    this.#sql = sql
    this.#clock = clock
    this.#storage = storage
  }

  /** Stores a file that is kept for a day unless a message has it. @throws AppError of the inspection, storage_full */
  async take({ userId }: Pick<Caller, 'userId'>, upload: Upload): Promise<TicketAttachmentData> {
    // At most 10 MB are held in memory: the content is judged before it is stored.
    return attachmentView(await this.store(userId, upload.name, await buffer(upload.stream)))
  }

  /** @throws AppError unsupported_file, unsafe_file, damaged_file, empty_file, image_too_large, storage_full */
  async store(userId: string, name: string, content: Buffer): Promise<AttachmentRow> {
    const found = await inspectHead(content.subarray(0, HEAD_BYTES), name)
    await inspectWhole(found, content.length, async (start, length) => content.subarray(start, start + length))
    return this.#keep(userId, name, content, found.type)
  }

  /** Stores the HTML of a mail. Nobody uploads HTML, and browsers download it instead of showing it. @throws AppError storage_full */
  async keepHtml(userId: string, name: string, html: string): Promise<AttachmentRow> {
    return this.#keep(userId, name, Buffer.from(html), 'text/html; charset=utf-8')
  }

  async #keep(userId: string, name: string, content: Buffer, type: string): Promise<AttachmentRow> {
    const now = this.#clock.now()
    const row: AttachmentRow = {
      id: uuidv7(now),
      messageId: null,
      userId,
      name: safeFileName(name),
      type,
      size: content.length,
      createdAt: new Date(now).toISOString(),
    }
    await this.#storage.put(keyOf(row), Readable.from([content], { objectMode: false }), { type: row.type })
    await supportAttachments.insert(this.#sql, row)
    return row
  }

  /** Attaches files that a user uploaded to a message. @throws AppError validation_failed */
  async bind(sql: Sql, messageId: string, userId: string, given: readonly string[]): Promise<void> {
    if (given.length === 0) return
    const ids = given.map((text) => /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(text)?.[1])
    const loose = { id: anyOf(ids.filter((id) => id !== undefined)), userId, messageId: null }
    const bound = new Set((await supportAttachments.updateReturning(sql, loose, { messageId })).map(({ id }) => id))
    const errors = ids.flatMap((id, index) => {
      const message = 'must be the id or URL of a file that you uploaded and have not sent yet'
      return id !== undefined && bound.has(id) ? [] : [{ path: `/body/attachments/${index}`, code: 'unknown', message }]
    })
    if (errors.length > 0) throw ValidationFailed({ errors })
  }

  /** The files of messages. */
  async of(sql: Sql, messageIds: readonly string[]): Promise<ReadonlyMap<string, readonly AttachmentRow[]>> {
    if (messageIds.length === 0) return new Map()
    const rows = await supportAttachments.find(sql, { messageId: anyOf(messageIds) }, { orderBy: ['id asc'] })
    return Map.groupBy(rows, ({ messageId }) => messageId ?? '')
  }

  /** @throws AppError not_found, also for those who may not see the message */
  async file({ isAdmin, userId }: Caller, id: string) {
    const row = await readable.row(this.#sql, { id, userId, isAdmin: isAdmin || undefined })
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
    return deleteInBatches(supportAttachments, this.#sql, { messageId: null, createdAt: lessThan(before) })
  }
}

/** Which of some files are attachments of tickets, sent or not. */
export async function findTicketFiles(sql: Sql, ids: readonly string[]): Promise<string[]> {
  return (await supportAttachments.find(sql, { id: anyOf(ids) }, { columns: ['id'] })).map(({ id }) => id)
}

export function attachmentView({ id, name, size, type }: AttachmentRow): TicketAttachmentData {
  return { _id: id, id, name, url: `/api/support/attachments/${id}`, fileType: type, size }
}

function keyOf({ id, userId }: Pick<AttachmentRow, 'id' | 'userId'>): string {
  return `${userId}/${id}`
}
