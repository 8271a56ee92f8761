import { changesOf } from '../changes/post-changes.ts'
import type { PostChanges } from '../changes/schemas.ts'
import type { PostSnapshot as ComparedSnapshot } from '../changes/snapshot.ts'
import type { PostSnapshot, VersionRow } from '../../posts/index.ts'

type Version = Pick<VersionRow, 'id' | 'snapshot'>

/** Characters of the texts of all differences that are kept. */
const MAX_KEPT = 4_000_000

/**
 * The differences between versions. Versions never change, so each difference is computed once and kept, until the
 * least recently read ones make room for others.
 */
export class VersionChanges {
  readonly #kept = new Map<string, { readonly changes: PostChanges; readonly size: number }>()
  #size = 0

  /** The difference of a version from the one before it. */
  of(version: Version, before: Version): PostChanges {
    const key = `${before.id} ${version.id}`
    const kept = this.#kept.get(key)
    const entry = kept ?? measured(changesOf(compared(before.snapshot), compared(version.snapshot)))
    // The map is in the order in which its entries were read.
    this.#kept.delete(key)
    this.#kept.set(key, entry)
    if (kept === undefined) this.#makeRoom(entry.size)
    return entry.changes
  }

  #makeRoom(size: number): void {
    this.#size += size
    for (const [key, oldest] of this.#kept) {
      if (this.#size <= MAX_KEPT) return
      this.#kept.delete(key)
      this.#size -= oldest.size
    }
  }
}

function measured(changes: PostChanges) {
  return { changes, size: JSON.stringify(changes).length }
}

/** A snapshot as the comparison takes it: with the names of the API, and own times in the overrides. */
function compared({ scheduledAt, targets, timeZone, ...snapshot }: PostSnapshot): ComparedSnapshot {
  return {
    ...snapshot,
    scheduledFor: scheduledAt,
    timezone: timeZone,
    targets: targets.map(({ accountId, override, scheduledAt: own }) => ({
      accountId,
      override: { ...override, ...(own !== null && { scheduledFor: own }) },
    })),
  }
}
