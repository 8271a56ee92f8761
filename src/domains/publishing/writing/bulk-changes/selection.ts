import { ValidationFailed } from '../../../../core/errors.ts'
import type { PostReader } from '../../posts/index.ts'
import { MAX_CHANGED, type Selection } from './schemas.ts'

/**
 * The ids of the posts of a bulk change. Read before the turn, because the search of a filter does not belong into the
 * turn's transaction; the turn reads each post again.
 * @throws AppError validation_failed, search_too_broad, overloaded
 */
export async function selectedIds(
  reader: PostReader,
  { filter, postIds, workspaceId }: Selection,
): Promise<readonly string[]> {
  if ((filter === undefined) === (postIds === undefined)) {
    const [path, message] =
      postIds === undefined
        ? ['/body/postIds', 'is required, or `filter`']
        : ['/body/filter', 'cannot be combined with postIds']
    throw ValidationFailed({ errors: [{ path, code: 'required', message }] })
  }
  if (postIds !== undefined) return postIds
  const { items } = await reader.list({ ...filter, workspaceId }, { after: undefined, limit: MAX_CHANGED + 1 })
  if (items.length > MAX_CHANGED) {
    const message = `matches more than ${MAX_CHANGED} posts. Narrow it, for instance with from and to`
    throw ValidationFailed({ errors: [{ path: '/body/filter', code: 'too_many', message }] })
  }
  return items.map((json) => (JSON.parse(json) as { _id: string })._id)
}
