import { createHash } from 'node:crypto'

/** What may be known of an ingest key once it has been read. */
export interface KeyFingerprint {
  readonly path: string
  /** Lower-case hex SHA-256 of the whole key. */
  readonly keyHash: string
}

const KEY = /^([a-z0-9]{8,64})-[0-9a-f]{32}$/

/**
 * Takes a key apart as a publisher sends it: `<path>-<secret>`, perhaps with a query (ignored) and white space from a
 * clipboard around it. Null when it has another form. The secret ends here: nothing else ever holds it.
 */
export function fingerprintKey(name: string): KeyFingerprint | null {
  const key = name.split('?', 1)[0]!.trim()
  const path = KEY.exec(key)?.[1]
  if (path === undefined) return null
  // A substring keeps the string it was cut from in memory; a copy does not.
  return { path: Buffer.from(path).toString(), keyHash: createHash('sha256').update(key).digest('hex') }
}
