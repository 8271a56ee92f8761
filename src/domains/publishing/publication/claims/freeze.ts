import { uuidv7 } from '../../../../tools/id.ts'
import type { Turn } from '../../../../core/turn.ts'
import { findPlatform } from '../../../../platforms/registry.ts'
import { postFiles, type PostFile } from '../../../media/assets/index.ts'
import { allRefs, contentFor, type LoadedPost, type SegmentRow, type TargetRow } from '../../posts/index.ts'
import { partsOf } from './parts.ts'

/** The files of some posts, by `refKey`. */
export function filesOf(turn: Turn, loaded: readonly LoadedPost[]): Promise<ReadonlyMap<string, PostFile>> {
  const refs = loaded.flatMap(({ post, targets }) => {
    return allRefs(
      post.body,
      targets.map(({ override }) => override),
    )
  })
  return postFiles(turn.sql, turn.workspaceId, refs)
}

interface Freezing {
  readonly now: number
  readonly createdAt: number
  /** The files of the post. */
  readonly files: ReadonlyMap<string, PostFile>
}

/** Makes the segments of a target from its current content. Times are milliseconds since the epoch. */
export function freeze(
  { post, target }: Pick<LoadedPost, 'post'> & { readonly target: TargetRow },
  { createdAt, files, now }: Freezing,
): readonly SegmentRow[] {
  const parts = partsOf(contentFor(post.body, target.override, files))
  return parts.map((part, position): SegmentRow => {
    const id = uuidv7(now)
    return {
      id,
      workspaceId: target.workspaceId,
      targetId: target.id,
      position,
      status: 'pending',
      part: { ...part, key: id, createdAt },
      state: null,
      calledAt: null,
      sentBy: null,
      remote: null,
      publishedAt: null,
      removedAt: null,
      preparedFor: null,
      updatedAt: new Date(now).toISOString(),
    }
  })
}

/**
 * Whether the segments of a scheduled target can be used for its publication: they were prepared for the same time, and
 * the platform still has what was prepared. Segments whose call was ever made can always be used, because they are
 * needed to recognize a refusal as a duplicate.
 */
export function isPrepared(target: TargetRow, segments: readonly SegmentRow[], now: number): boolean {
  const [first] = segments
  if (first === undefined) return false
  if (segments.some(({ calledAt }) => calledAt !== null)) return true
  if (first.part.createdAt !== Date.parse(target.scheduledAt ?? '')) return false
  const { lifeMs = 0 } = findPlatform(target.platform)?.publishing?.preparation ?? {}
  return first.state === null || now - Date.parse(first.updatedAt) < lifeMs
}
