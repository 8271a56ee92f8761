import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound } from '../../../core/errors.ts'
import { operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { list, ok } from '../../../core/reply.ts'
import { Envelope, ListOf } from '../../../core/schema.ts'
import { PostNotPossible, PostPath, PostView } from '../posts/index.ts'
import { AttemptQuery, PostAttemptView, Settlement, TargetPath } from './schemas.ts'

const { postId: id, targetId } = EXAMPLE

export const listPostAttempts = operation({
  route: 'GET /api/posts/{id}/attempts',
  summary: 'List the attempts to publish a post',
  description: 'With the calls to the platform, newest first: the evidence for an outcome that is not known.',
  access: 'posts:read',
  workspace: owner('posts'),
  path: PostPath,
  query: AttemptQuery,
  returns: { 200: ListOf(PostAttemptView) },
  errors: [NotFound],
  example: { path: { id } },
  handle: async ({ path, publication, query }) =>
    list('Attempts', await publication.evidence.list(path.id, query.targetId, pageRequest(query))),
})

export const settlePostTarget = operation({
  route: 'POST /api/posts/{id}/targets/{targetId}/settle',
  summary: 'Say whether a post was published',
  description:
    'For a target that is `unconfirmed`: the reply of the platform was lost. Look at the account first, and at the attempts. After `published` it is published; if a later part is missing, it is partial. After `not_published` it has failed, and can be retried. Your answer wins over a check that is going on. While a call that publishes is being made, the answer is 409.',
  access: 'posts:publish',
  workspace: owner('posts'),
  turn: true,
  path: TargetPath,
  body: Settlement,
  returns: { 200: Envelope(PostView) },
  errors: [NotFound, PostNotPossible],
  example: { path: { id, targetId }, body: { outcome: 'not_published' } },
  handle: async ({ body, path, publication, turn }) =>
    ok('Outcome recorded', await publication.settlement.settle(turn, path, body)),
})
