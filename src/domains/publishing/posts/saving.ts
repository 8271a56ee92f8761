import { uuidv7 } from '../../../tools/id.ts'
import type { Turn } from '../../../core/turn.ts'
import type { PostData } from './schemas.ts'
import { snapshotOf } from './snapshot.ts'
import { savePost, type LoadedPost } from './store.ts'
import { postVersions, type VersionKind } from './tables.ts'

/** What a version is, and whose. */
interface VersionBy {
  readonly kind: VersionKind
  readonly authorId: string | null
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Saves a change of the content as a new version. @throws AppError model_text_not_released */
export async function saveVersion(
  turn: Turn,
  before: LoadedPost,
  { post, targets }: LoadedPost,
  by: VersionBy,
): Promise<PostData> {
  const updatedAt = new Date(by.now).toISOString()
  const after = { post: { ...post, version: before.post.version + 1, updatedAt }, targets }
  const view = await savePost(turn, before, after)
  addVersion(turn, { ...after, post: { ...after.post, textOrigin: view.textOrigin } }, by)
  turn.audit({ kind: 'post', id: post.id })
  return view
}

/** Adds the version that a stored post now has. */
export function addVersion(turn: Turn, loaded: LoadedPost, { authorId, kind, now }: VersionBy): void {
  const { id: postId, textOrigin, version, workspaceId } = loaded.post
  turn.insert(postVersions, {
    id: uuidv7(now),
    workspaceId,
    postId,
    version,
    snapshot: snapshotOf(loaded),
    authorId,
    kind,
    textOrigin,
    createdAt: new Date(now).toISOString(),
  })
}
