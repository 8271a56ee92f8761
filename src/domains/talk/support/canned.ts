import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import { increment } from '../../../db/increment.ts'
import type { Foundation } from '../../../foundation.ts'
import type { CannedReplyData } from './schemas.ts'
import { cannedReplies, type CannedReplyRow } from './tables.ts'

/** Texts that the support team uses often. */
export class CannedReplies {
  readonly #sql: Foundation['database']
  readonly #clock: Clock

  constructor(sql: Foundation['database'], clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  async list(page: PageRequest): Promise<PageResult<CannedReplyData>> {
    const rows = await cannedReplies.page(this.#sql, {}, page)
    return pageOf(rows, page.limit, ({ createdAt, id }) => ({ createdAt, id }), view)
  }

  async create({ content, title }: { title: string; content: string }, userId: string): Promise<CannedReplyData> {
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const row = { id: uuidv7(now), title, content, version: 1, createdBy: userId, createdAt: at, updatedAt: at }
    await cannedReplies.insert(this.#sql, row)
    return view(row)
  }

  /** @throws AppError not_found, precondition_failed */
  update(id: string, change: { title?: string; content?: string }, ifMatch: IfMatch): Promise<CannedReplyData> {
    return this.#sql.transaction(async (tx) => {
      const before = await cannedReplies.first(tx, { id }, { lock: 'for update' })
      if (before === undefined) throw NotFound()
      requireVersion(ifMatch, before.version)
      const changes = { ...change, version: increment(), updatedAt: new Date(this.#clock.now()) }
      const [row] = await cannedReplies.updateReturning(tx, { id }, changes)
      return view(row ?? before)
    })
  }

  /** @throws AppError not_found */
  async delete(id: string): Promise<void> {
    if ((await cannedReplies.delete(this.#sql, { id })) === 0) throw NotFound()
  }
}

function view({ content, createdAt, createdBy, id, title, updatedAt, version }: CannedReplyRow): CannedReplyData {
  return { _id: id, createdAt, updatedAt, title, content, version, createdBy }
}
