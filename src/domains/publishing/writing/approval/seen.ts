import type { Sql } from '../../../../core/sql.ts'
import { postFiles, refKey, type PostFile } from '../../../media/assets/index.ts'
import {
  snapshotOf,
  allRefs,
  type MediaRef,
  type LoadedPost,
  type PostSnapshot as StoredSnapshot,
} from '../../posts/index.ts'
import { changesOf } from '../changes/post-changes.ts'
import { DiffBudget } from '../changes/words.ts'
import type { PostChanges, PostPart } from '../changes/schemas.ts'
import { contentHash, type MediaSnapshot, type PostSnapshot } from '../changes/snapshot.ts'

/** A stored version as the comparison of versions reads it. */
export function comparable({ scheduledAt, targets, timeZone, ...rest }: StoredSnapshot): PostSnapshot {
  return {
    ...rest,
    scheduledFor: scheduledAt,
    timezone: timeZone,
    targets: targets.map(({ accountId, override, scheduledAt: own }) => ({
      accountId,
      override: own === null ? override : { ...override, scheduledFor: own },
    })),
  }
}

/** The difference between two versions, as approvers see it. */
export function changesBetween(before: StoredSnapshot, after: StoredSnapshot): PostChanges {
  return changesOf(comparable(before), comparable(after))
}

/** The parts of a post in which two versions differ. */
export function changedParts(before: LoadedPost, after: LoadedPost): PostPart[] {
  return changesOf(comparable(snapshotOf(before)), comparable(snapshotOf(after)), DiffBudget.none()).parts
}

/**
 * A hash of what the approvers of a post see, including the files. Times count as the wall clock that they have seen: a
 * time zone whose rules change moves the instant and not the hash.
 */
export async function seenHash(sql: Sql, loaded: LoadedPost): Promise<string> {
  const { post, targets } = loaded
  const refs = allRefs(
    post.body,
    targets.map(({ override }) => override),
  )
  const files = await postFiles(sql, post.workspaceId, refs)
  const snapshot = comparable(snapshotOf(loaded))
  const seen = {
    ...withFiles(snapshot, files),
    ...(post.localTime !== null && { scheduledFor: null }),
    targets: (snapshot.targets ?? []).map(({ accountId, override }) => ({
      accountId,
      override: override == null ? null : withFiles(override, files),
    })),
  }
  return contentHash(seen)
}

type WithMedia = Pick<PostSnapshot, 'media' | 'thread'>

/** Adds to each file where its bytes are stored. A workspace stores equal bytes once and never changes them. */
function withFiles<T extends WithMedia>(content: T, files: ReadonlyMap<string, PostFile>): T {
  const marked = (media: readonly MediaSnapshot[]) =>
    media.map((item) => ({ ...item, checksum: files.get(refKey(item as MediaRef))?.key ?? null }))
  return {
    ...content,
    ...(content.media && { media: marked(content.media) }),
    ...(content.thread && {
      thread: content.thread.map((part) => ({ ...part, media: marked(part.media ?? []) })),
    }),
  }
}
