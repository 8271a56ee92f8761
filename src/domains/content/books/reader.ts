import { PublicContent, type Edition, type LoadedContent } from '../../../coordination/public-content.ts'
import { NotFound } from '../../../core/errors.ts'
import { pageOfAll } from '../../../core/page-of-all.ts'
import { list, reply, serialized } from '../../../core/reply.ts'
import { not } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { METADATA, type BookMetadata } from './metadata.ts'
import type { BookData, BookListQueryData } from './schemas.ts'
import { books } from './tables.ts'

type Parts = Pick<Foundation, 'clock' | 'config' | 'coordination' | 'database'>

/** The books as the public reads them. Their metadata and the books that are read are in memory. */
export class BookReader {
  readonly #foundation: Parts
  readonly content: PublicContent<readonly BookData[]>

  constructor(foundation: Parts) {
    this.#foundation = foundation
    const { clock, coordination } = foundation
    this.content = new PublicContent({ name: 'books', clock, coordination, load: () => this.#load() })
  }

  list(query: BookListQueryData) {
    const { cursor = '', limit = 30, page = 1 } = query
    const key = `list ${limit} ${page} ${cursor}`
    const answer = (edition: Edition<readonly BookData[]>) => {
      const body = () => list('Books', pageOfAll(edition.value, query, positionOf)).body
      return serialized<ReturnType<typeof body>>(edition.kept(key) ?? edition.keep(key, body()))
    }
    const edition = this.content.read()
    return edition instanceof Promise ? edition.then(answer) : answer(edition)
  }

  /** The JSON of a published book. @throws AppError not_found */
  async data(id: string) {
    const edition = await this.content.read()
    const kept = edition.kept(id)
    if (kept) return reply(200, kept)
    const book = edition.value.find(({ _id }) => _id === id)
    const row = book && (await books.first(this.#foundation.database, { id }, { columns: ['data'] }))
    if (row === undefined) throw NotFound()
    return reply(200, edition.keep(id, row.data))
  }

  async #load(): Promise<LoadedContent<readonly BookData[]>> {
    const { clock, config, database } = this.#foundation
    const rows = await books.find(database, { publishedAt: not(null) }, { columns: METADATA })
    const now = clock.now()
    const timeOf = (row: BookMetadata) => Date.parse(row.publishedAt ?? '')
    const later = rows.map(timeOf).filter((at) => at > now)
    const value = rows
      .filter((row) => timeOf(row) <= now)
      .map((row) => viewOf(row, config.PUBLIC_URL))
      .toSorted(newestFirst)
    return { value, until: later.length === 0 ? undefined : later.reduce((first, at) => Math.min(first, at)) }
  }
}

function viewOf({ id, publishedAt, version: _version, ...row }: BookMetadata, publicUrl: string): BookData {
  return { _id: id, ...row, publishedAt: publishedAt ?? row.createdAt, dataUrl: `${publicUrl}/api/books/${id}/data` }
}

function positionOf({ _id: id, publishedAt }: BookData) {
  return { createdAt: publishedAt, id }
}

function newestFirst(one: BookData, other: BookData): number {
  if (one.publishedAt !== other.publishedAt) return one.publishedAt < other.publishedAt ? 1 : -1
  return one._id < other._id ? 1 : -1
}
