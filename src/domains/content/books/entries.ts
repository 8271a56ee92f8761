import { createHash } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { NotFound, PayloadTooLarge } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Database } from '../../../db/database.ts'
import { increment } from '../../../db/increment.ts'
import { METADATA, type BookMetadata } from './metadata.ts'
import { MAX_BOOK_BYTES, type BookChangesData, type BookEntryData, type NewBookData } from './schemas.ts'
import { books } from './tables.ts'

/** The books as administrators write them. */
export class BookEntries {
  readonly #database: Database
  readonly #clock: Clock
  readonly #changed: () => void

  /** @param changed is called after the commit of a change */
  constructor(database: Database, clock: Clock, changed: () => void) {
    this.#database = database
    this.#clock = clock
    this.#changed = changed
  }

  async list(query: { limit?: number; cursor?: string }): Promise<PageResult<BookEntryData>> {
    const page = pageRequest(query)
    const rows = await books.page(this.#database, {}, page, METADATA)
    return pageOf(rows, page.limit, (row) => row, this.#view)
  }

  /** @throws AppError not_found */
  async get(id: string): Promise<BookEntryData> {
    const row = await books.first(this.#database, { id }, { columns: METADATA })
    if (row === undefined) throw NotFound()
    return this.#view(row)
  }

  /** @throws AppError payload_too_large */
  async create(input: NewBookData): Promise<BookEntryData> {
    const { author = '', coverUrl = null, data, description = '', language = 'en', publishedAt, title } = input
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    const times = { publishedAt: instant(publishedAt) ?? null, createdAt: now, updatedAt: now }
    const facts = { title, author, language, description, coverUrl }
    await books.insert(this.#database, { id, ...facts, ...contentOf(data), ...times })
    this.#changed()
    return this.get(id)
  }

  /** @throws AppError not_found, precondition_failed, payload_too_large */
  async update(id: string, changes: BookChangesData, ifMatch: IfMatch): Promise<BookEntryData> {
    const { data, publishedAt, ...others } = changes
    const content = data === undefined ? {} : contentOf(data)
    const date = publishedAt === undefined ? undefined : (instant(publishedAt) ?? null)
    const row = await this.#database.transaction(async (tx) => {
      const before = await books.first(tx, { id }, { columns: METADATA, lock: 'for update' })
      if (before === undefined) throw NotFound()
      requireVersion(ifMatch, before.version)
      const times = { publishedAt: date, updatedAt: new Date(this.#clock.now()), version: increment() }
      const [after] = await books.updateReturning(tx, { id }, { ...others, ...content, ...times })
      return after ?? before
    })
    this.#changed()
    return this.#view(row)
  }

  /** @throws AppError not_found, precondition_failed */
  async delete(id: string, ifMatch: IfMatch): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const before = await books.first(tx, { id }, { columns: ['version'], lock: 'for update' })
      if (before === undefined) throw NotFound()
      requireVersion(ifMatch, before.version)
      await books.delete(tx, { id })
    })
    this.#changed()
  }

  readonly #view = (row: BookMetadata): BookEntryData => {
    const {
      author,
      coverUrl,
      createdAt,
      description,
      id,
      language,
      publishedAt,
      sha256,
      size,
      title,
      updatedAt,
      version,
    } = row
    const isPublished = publishedAt !== null && Date.parse(publishedAt) <= this.#clock.now()
    const status = publishedAt === null ? 'draft' : isPublished ? 'published' : 'scheduled'
    const facts = { title, author, language, description, coverUrl, size, sha256 }
    return { _id: id, ...facts, publishedAt, status, version, createdAt, updatedAt }
  }
}

/** @throws AppError payload_too_large */
function contentOf(value: unknown) {
  const data = JSON.stringify(value)
  const size = Buffer.byteLength(data)
  if (size > MAX_BOOK_BYTES)
    throw PayloadTooLarge({
      message: `The field data has ${size} bytes as JSON. At most ${MAX_BOOK_BYTES} are allowed.`,
    })
  return { data, size, sha256: createHash('sha256').update(data).digest('hex') }
}
