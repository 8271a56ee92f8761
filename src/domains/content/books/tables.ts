import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'

/** A book, whose content is one JSON document. */
export const Book = defineEntity({
  name: 'Book',
  tableName: 'books',
  properties: {
    id: p.uuid().primary(),
    title: p.text(),
    author: p.text(),
    language: p.text(),
    description: p.text(),
    coverUrl: p.text().nullable(),
    /** JSON as text, so that its bytes and its checksum stay the same. */
    data: p.text(),
    size: p.integer(),
    /** SHA-256 of `data`, hexadecimal. */
    sha256: p.text(),
    /** When it becomes public. Null for a draft. */
    publishedAt: timestamp().nullable(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const books = table(Book)
export type BookRow = Row<typeof Book>
