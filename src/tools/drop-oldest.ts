/** Removes the entries that were added first, until `most` are left. */
export function dropOldest<K>(entries: Map<K, unknown> | Set<K>, most: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= most) return
    entries.delete(key)
  }
}
