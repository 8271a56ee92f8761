import { NotFound, PreconditionFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { operation } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { CannedReplyChange, CannedReplyPath, CannedReplyQuery, CannedReplyView, NewCannedReply } from './schemas.ts'

const { cannedReplyId: id } = EXAMPLE

export const listCannedReplies = operation({
  route: 'GET /api/support/canned-replies',
  summary: 'List canned replies',
  description: 'Texts that the support team uses often, newest first.',
  access: 'admin',
  query: CannedReplyQuery,
  returns: { 200: ListOf(CannedReplyView) },
  example: {},
  handle: async ({ query, support }) => list('Canned replies', await support.canned.list(pageRequest(query))),
})

export const createCannedReply = operation({
  route: 'POST /api/support/canned-replies',
  summary: 'Create a canned reply',
  access: 'admin',
  body: NewCannedReply,
  returns: { 201: Envelope(CannedReplyView) },
  example: { body: { title: 'No sound', content: 'Please check that your encoder sends AAC audio.' } },
  handle: async ({ body, caller, support }) =>
    created('Canned reply created', await support.canned.create(body, caller.userId)),
})

export const updateCannedReply = operation({
  route: 'PATCH /api/support/canned-replies/{id}',
  summary: 'Update a canned reply',
  access: 'admin',
  path: CannedReplyPath,
  body: CannedReplyChange,
  returns: { 200: Envelope(CannedReplyView) },
  errors: [NotFound, PreconditionFailed],
  etag: 'edits',
  example: { path: { id }, body: { title: 'No sound at all' } },
  handle: async ({ body, ifMatch, path, support }) =>
    ok('Canned reply changed', await support.canned.update(path.id, body, ifMatch)),
})

export const deleteCannedReply = operation({
  route: 'DELETE /api/support/canned-replies/{id}',
  summary: 'Delete a canned reply',
  access: 'admin',
  path: CannedReplyPath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id } },
  handle: async ({ path, support }) => {
    await support.canned.delete(path.id)
    return done('Canned reply deleted')
  },
})
