import { uuidv7 } from '../../../../core/id.ts'
import type { Turn } from '../../../../core/turn.ts'
import { findPlatform } from '../../../../platforms/registry.ts'
import { postFiles } from '../../../media/assets/index.ts'
import { allRefs, contentFor } from '../content.ts'
import type { LoadedPost } from '../store.ts'
import { postSegments, type SegmentRow, type TargetRow } from '../tables.ts'
import { partsOf } from './parts.ts'

/** Makes the segments of a target from its current content. Times are milliseconds since the epoch. */
export async function freeze(
  turn: Turn,
  { post, target }: LoadedPost & { target: TargetRow },
  { createdAt, now }: { readonly now: number; readonly createdAt: number },
): Promise<readonly SegmentRow[]> {
  const files = await postFiles(turn.sql, turn.workspaceId, allRefs(post.body, [target.override]))
  const parts = partsOf(contentFor(post.body, target.override, files))
  const rows = parts.map((part, position): SegmentRow => {
    const id = uuidv7(now)
    return {
      id,
      workspaceId: turn.workspaceId,
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
  for (const row of rows) turn.insert(postSegments, row)
  return rows
}

/**
 * Whether what a scheduled target has can be used for its publication: it was prepared for the same time, and what the
 * platform has of it still lives. Segments whose call was made once always are: they tell a refusal as a duplicate.
 */
export function isPrepared(target: TargetRow, segments: readonly SegmentRow[], now: number): boolean {
  const [first] = segments
  if (first === undefined) return false
  if (segments.some(({ calledAt }) => calledAt !== null)) return true
  if (first.part.createdAt !== Date.parse(target.scheduledAt ?? '')) return false
  const { lifeMs = 0 } = findPlatform(target.platform)?.publishing?.preparation ?? {}
  return first.state === null || now - Date.parse(first.updatedAt) < lifeMs
}
