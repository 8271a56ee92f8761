import { EXAMPLE } from '../../../core/example-ids.ts'
import { Conflict, NotFound, PreconditionFailed } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { PageQuery } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, Id, Input, ListOf } from '../../../core/schema.ts'
import { BlogEntry, BlogEntryChanges, NewBlogEntry } from './schemas.ts'

const EntryPath = Input({ id: Id })
const path = { id: EXAMPLE.blogEntryId }

export const listBlogEntries = operation({
  route: 'GET /api/blog/entries',
  summary: 'List all posts of the blog, with drafts',
  description: 'Posts from files are not listed.',
  access: 'admin',
  query: PageQuery,
  returns: { 200: ListOf(BlogEntry) },
  example: { query: { limit: 20 } },
  handle: async ({ blog, query }) => list('Posts', await blog.entries.list(query)),
})

export const createBlogEntry = operation({
  route: 'POST /api/blog/entries',
  summary: 'Write a post of the blog',
  description:
    'Without `publishedAt` it is a draft. With a time in the future it becomes public at that time, on all nodes. Without `slug` the address follows from the title.',
  access: 'admin',
  bodyLimit: 1_000_000,
  body: NewBlogEntry,
  returns: { 201: Envelope(BlogEntry) },
  errors: [Conflict],
  example: {
    body: {
      title: 'How to go live everywhere',
      body: '## One encoder, many platforms\n\nSend **one** stream. Crier sends it on.',
      categoryNames: ['Guides'],
      author: 'Ada Lovelace',
      publishedAt: '2026-11-21T18:30:00.000Z',
    },
  },
  handle: async ({ blog, body }) => created('Post written', await blog.entries.create(body)),
})

export const getBlogEntry = operation({
  route: 'GET /api/blog/entries/{id}',
  summary: 'Get a post of the blog as it is edited',
  access: 'admin',
  etag: true,
  path: EntryPath,
  returns: { 200: Envelope(BlogEntry) },
  errors: [NotFound],
  example: { path },
  handle: async ({ blog, path: { id } }) => ok('Post', await blog.entries.get(id)),
})

export const updateBlogEntry = operation({
  route: 'PATCH /api/blog/entries/{id}',
  summary: 'Change a post of the blog',
  description: 'To take it back, set `publishedAt` to null.',
  access: 'admin',
  etag: true,
  bodyLimit: 1_000_000,
  path: EntryPath,
  body: BlogEntryChanges,
  returns: { 200: Envelope(BlogEntry) },
  errors: [NotFound, Conflict, PreconditionFailed],
  example: { path, body: { title: 'How to go live on every platform' } },
  handle: async ({ blog, body, ifMatch, path: { id } }) =>
    ok('Post changed', await blog.entries.update(id, body, ifMatch)),
})

export const deleteBlogEntry = operation({
  route: 'DELETE /api/blog/entries/{id}',
  summary: 'Delete a post of the blog',
  access: 'admin',
  path: EntryPath,
  returns: { 200: Done },
  errors: [NotFound, PreconditionFailed],
  example: { path },
  handle: async ({ blog, ifMatch, path: { id } }) => {
    await blog.entries.delete(id, ifMatch)
    return done('Post deleted')
  },
})
