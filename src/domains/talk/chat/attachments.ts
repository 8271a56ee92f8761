import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileTypeFromBuffer } from 'file-type'
import type { Caller, Member } from '../../../core/caller.ts'
import { DAY, type Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import { file } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Upload } from '../../../core/upload.ts'
import { StorageUnavailable } from '../../../storage/errors.ts'
import type { Storage } from '../../../storage/storage.ts'
import { EmptyAttachment } from './errors.ts'
import type { AttachmentData } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly chatAttachments: ChatAttachments
  }
}

/** Bytes of one file. */
export const MOST_ATTACHMENT_BYTES = 5 * 1024 * 1024

/** How long a file may wait for its message. */
const LOOSE_MS = DAY

/** What no browser runs, whatever is in it. All else is saved, not shown. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])

interface AttachmentRow {
  id: string
  workspace_id: string
  name: string
  type: string
  size: number
  created_at: string
}

const COLUMNS = 'a.id, a.workspace_id, a.name, a.type, a.size, a.created_at'
// A file that waits for its message is its sender's; one that has it is seen by whoever sees the message.
const READABLE = `
  select ${COLUMNS} from chat_attachments a
  left join chat_messages m on m.id = a.message_id left join channels c on c.id = m.channel_id
  where a.workspace_id = $1 and a.id = $3 and case when a.message_id is null then a.uploaded_by = $2
    else not c.private or exists (select from channel_members cm
      where cm.channel_id = c.id and cm.workspace_id = c.workspace_id and cm.user_id = $2) end`
const LOOSE = `
  select ${COLUMNS} from chat_attachments a
  where a.workspace_id = $1 and a.uploaded_by = $2 and a.id = any($3) and a.message_id is null`

/** Files of messages. What a file is, is told from its content; its name is only a name. */
export class ChatAttachments {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #storage: Storage

  constructor(sql: Sql, clock: Clock, storage: Storage) {
    this.#sql = sql
    this.#clock = clock
    this.#storage = storage
  }

  /** Takes a file, which then waits a day for its message. @throws AppError empty_attachment, storage_full, … */
  async take({ userId, workspaceId }: Member, upload: Upload): Promise<AttachmentData> {
    // Five megabytes at most, and the file must be known before it is stored.
    const content = await buffer(upload.stream)
    if (content.length === 0) throw EmptyAttachment()
    const found = await fileTypeFromBuffer(content)
    const now = this.#clock.now()
    const row: AttachmentRow = {
      id: uuidv7(now),
      workspace_id: workspaceId,
      name: safeName(upload.name),
      type: found?.mime ?? (isText(content) ? 'text/plain; charset=utf-8' : 'application/octet-stream'),
      size: content.length,
      created_at: new Date(now).toISOString(),
    }
    await this.#storage.put(keyOf(row), Readable.from([content], { objectMode: false }), { type: row.type })
    await this.#sql.run(
      `insert into chat_attachments (id, workspace_id, uploaded_by, name, type, size, created_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [row.id, workspaceId, userId, row.name, row.type, row.size, row.created_at],
    )
    return view(row)
  }

  /** The files of a message that is being sent, in the order of their naming. @throws AppError validation_failed */
  async ofMessage(turn: Turn, caller: Caller, ids: readonly string[]): Promise<AttachmentData[]> {
    if (ids.length === 0) return []
    const rows = await turn.sql.rows<AttachmentRow>(LOOSE, [turn.workspaceId, caller.userId, ids])
    const known = new Map(rows.map((row) => [row.id, view(row)]))
    const errors = ids.flatMap((id, index) =>
      known.has(id)
        ? []
        : [
            {
              path: `/body/attachments/${index}`,
              code: 'unknown',
              message: 'must be a file that you have uploaded and not sent yet',
            },
          ],
    )
    if (errors.length > 0) throw ValidationFailed({ errors })
    return ids.flatMap((id) => known.get(id) ?? [])
  }

  /** Binds files to a message whose row is written. */
  async bind(turn: Turn, messageId: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) {
      await turn.sql.run('update chat_attachments set message_id = $1 where id = any($2)', [messageId, ids])
    }
  }

  /** @throws AppError not_found, also for one who may not see the message */
  async file({ userId, workspaceId }: Member, id: string) {
    const row = await this.#sql.row<AttachmentRow>(READABLE, [workspaceId, userId, id])
    if (row === undefined) throw NotFound()
    return file({
      contentType: row.type,
      size: row.size,
      etag: row.id,
      name: row.name,
      disposition: SHOWN.has(row.type) ? 'inline' : 'attachment',
      modifiedAt: row.created_at,
      cache: 'private, max-age=3600',
      open: async (range) => {
        const content = await this.#storage.blocks(keyOf(row), range)
        if (content === undefined) throw StorageUnavailable({ retryAfter: 5 })
        return content
      },
    })
  }

  /** Forgets files that were never sent. The sweep of the storage removes what no row names. */
  async forgetLoose(): Promise<number> {
    return this.#sql.run('delete from chat_attachments where message_id is null and created_at < $1', [
      new Date(this.#clock.now() - LOOSE_MS),
    ])
  }
}

function keyOf(row: Pick<AttachmentRow, 'id' | 'workspace_id'>): string {
  return `${row.workspace_id}/${row.id}`
}

function view(row: AttachmentRow): AttachmentData {
  return {
    _id: row.id,
    name: row.name,
    url: `/api/team/${row.workspace_id}/chat/attachments/${row.id}`,
    fileType: row.type,
    size: row.size,
  }
}

/** Without folders, control characters and what turns text around; 120 characters at most, the ending kept. */
export function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const clean = last.replace(/[\p{Cc}\p{Cf}<>:"|?*]/gu, '').replace(/^[.\s]+|[.\s]+$/g, '')
  if (clean === '') return 'file'
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(clean)?.[0] ?? ''
  return clean.slice(0, clean.length - ending.length).slice(0, 120 - ending.length) + ending
}

/** Whether bytes are text in UTF-8, without what no text has. */
function isText(content: Buffer): boolean {
  if (content.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content)
    return true
  } catch {
    return false
  }
}
