import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound, PayloadTooLarge, PreconditionFailed } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { BookChanges, BookEntry, BookListQuery, BookPath, BookView, NewBook } from './schemas.ts'

/** A body with a whole book, in bytes. */
const BODY_LIMIT = 8_000_000
const path = { id: EXAMPLE.bookId }

export const listBooks = operation({
  route: 'GET /api/books',
  summary: 'List books',
  description: 'Published books, newest first, without their content. Takes either `page` or `cursor`.',
  access: 'public',
  limit: 'none',
  etag: true,
  headers: ['Cache-Control'],
  query: BookListQuery,
  returns: { 200: ListOf(BookView) },
  example: { query: { limit: 20 } },
  handle: ({ books, query }) => books.reader.list(query),
})

export const downloadBook = operation({
  route: 'GET /api/books/{id}/data',
  summary: 'Download a book',
  description: 'The JSON itself, as it was written. `sha256` in the list is its checksum.',
  access: 'public',
  etag: true,
  headers: ['Cache-Control'],
  path: BookPath,
  returns: { 200: { contentType: 'application/json' } },
  errors: [NotFound],
  example: { path },
  handle: async ({ books, path: { id } }) => books.reader.data(id),
})

export const listBookEntries = operation({
  route: 'GET /api/books/entries',
  summary: 'List all books, with drafts',
  access: 'admin',
  query: PageQuery,
  returns: { 200: ListOf(BookEntry) },
  example: { query: { limit: 20 } },
  handle: async ({ books, query }) => list('Books', await books.entries.list(query)),
})

export const createBook = operation({
  route: 'POST /api/books/entries',
  summary: 'Add a book',
  description: 'Without `publishedAt` it is a draft.',
  access: 'admin',
  bodyLimit: BODY_LIMIT,
  body: NewBook,
  returns: { 201: Envelope(BookEntry) },
  errors: [PayloadTooLarge],
  example: {
    body: {
      title: 'Live streaming in practice',
      author: 'Grace Hopper',
      data: { chapters: [{ title: 'The first stream', text: 'Begin with a test.' }] },
      publishedAt: '2026-11-21T18:30:00.000Z',
    },
  },
  handle: async ({ books, body }) => created('Book added', await books.entries.create(body)),
})

export const getBookEntry = operation({
  route: 'GET /api/books/entries/{id}',
  summary: 'Get a book as it is edited',
  access: 'admin',
  etag: true,
  path: BookPath,
  returns: { 200: Envelope(BookEntry) },
  errors: [NotFound],
  example: { path },
  handle: async ({ books, path: { id } }) => ok('Book', await books.entries.get(id)),
})

export const updateBook = operation({
  route: 'PATCH /api/books/entries/{id}',
  summary: 'Change a book',
  description: 'To take it back, set `publishedAt` to null.',
  access: 'admin',
  etag: true,
  bodyLimit: BODY_LIMIT,
  path: BookPath,
  body: BookChanges,
  returns: { 200: Envelope(BookEntry) },
  errors: [NotFound, PayloadTooLarge, PreconditionFailed],
  example: { path, body: { description: 'A short introduction' } },
  handle: async ({ body, books, ifMatch, path: { id } }) =>
    ok('Book changed', await books.entries.update(id, body, ifMatch)),
})

export const deleteBook = operation({
  route: 'DELETE /api/books/entries/{id}',
  summary: 'Delete a book',
  access: 'admin',
  path: BookPath,
  returns: { 200: Done },
  errors: [NotFound, PreconditionFailed],
  example: { path },
  handle: async ({ books, ifMatch, path: { id } }) => {
    await books.entries.delete(id, ifMatch)
    return done('Book deleted')
  },
})
