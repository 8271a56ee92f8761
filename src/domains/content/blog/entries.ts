import type { Clock } from '../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { instant } from '../../../core/instant.ts'
import { pageOf, pageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Database } from '../../../db/database.ts'
import { increment } from '../../../db/increment.ts'
import { isUniqueViolation } from '../../../db/prepared-sql.ts'
import type { BlogEntryChangesData, BlogEntryData, NewBlogEntryData } from './schemas.ts'
import { slugOf } from './slug.ts'
import { blogPosts, type BlogPostRow } from './tables.ts'

/** The posts of the database, as administrators write them. */
export class BlogEntries {
  readonly #database: Database
  readonly #clock: Clock
  readonly #changed: () => void

  /** @param changed is called after the commit of a change */
  constructor(database: Database, clock: Clock, changed: () => void) {
    this.#database = database
    this.#clock = clock
    this.#changed = changed
  }

  async list(query: { limit?: number; cursor?: string }): Promise<PageResult<BlogEntryData>> {
    const page = pageRequest(query)
    const rows = await blogPosts.page(this.#database, {}, page)
    return pageOf(rows, page.limit, (row) => row, this.#view)
  }

  /** @throws AppError not_found */
  async get(id: string): Promise<BlogEntryData> {
    const row = await blogPosts.first(this.#database, { id })
    if (row === undefined) throw NotFound()
    return this.#view(row)
  }

  /** @throws AppError conflict if the slug is taken; validation_failed for a title without Latin letters and no slug */
  async create(input: NewBlogEntryData): Promise<BlogEntryData> {
    const {
      author = '',
      body,
      categoryNames = [],
      imageAlt = '',
      imageUrl = null,
      publishedAt,
      summary = '',
      title,
    } = input
    const slug = input.slug ?? slugOf(title)
    if (slug === '') {
      const message = 'is required, because the title has no Latin letters or digits'
      throw ValidationFailed({ errors: [{ path: '/body/slug', code: 'required', message }] })
    }
    const now = new Date(this.#clock.now())
    const id = uuidv7(now.getTime())
    const times = { publishedAt: instant(publishedAt) ?? null, createdAt: now, updatedAt: now }
    const row = { id, slug, title, summary, body, author, categoryNames, imageUrl, imageAlt, ...times }
    await blogPosts.insert(this.#database, row).catch(taken)
    this.#changed()
    return this.get(id)
  }

  /** @throws AppError not_found, precondition_failed, conflict if the slug is taken */
  async update(id: string, changes: BlogEntryChangesData, ifMatch: IfMatch): Promise<BlogEntryData> {
    const { publishedAt, ...others } = changes
    const date = publishedAt === undefined ? undefined : (instant(publishedAt) ?? null)
    const row = await this.#database
      .transaction(async (tx) => {
        const before = await blogPosts.first(tx, { id }, { lock: 'for update' })
        if (before === undefined) throw NotFound()
        requireVersion(ifMatch, before.version)
        const times = { publishedAt: date, updatedAt: new Date(this.#clock.now()), version: increment() }
        const [after] = await blogPosts.updateReturning(tx, { id }, { ...others, ...times })
        return after ?? before
      })
      .catch(taken)
    this.#changed()
    return this.#view(row)
  }

  /** @throws AppError not_found, precondition_failed */
  async delete(id: string, ifMatch: IfMatch): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const before = await blogPosts.first(tx, { id }, { columns: ['version'], lock: 'for update' })
      if (before === undefined) throw NotFound()
      requireVersion(ifMatch, before.version)
      await blogPosts.delete(tx, { id })
    })
    this.#changed()
  }

  readonly #view = ({ id, publishedAt, ...row }: BlogPostRow): BlogEntryData => {
    const isPublished = publishedAt !== null && Date.parse(publishedAt) <= this.#clock.now()
    const status = publishedAt === null ? 'draft' : isPublished ? 'published' : 'scheduled'
    return { _id: id, ...row, publishedAt, status }
  }
}

function taken(error: unknown): never {
  if (isUniqueViolation(error, 'blog_posts_slug_key'))
    throw Conflict({ message: 'A post with this slug already exists. Choose another `slug`.' })
  throw error
}
