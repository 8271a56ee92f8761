import { createHash } from 'node:crypto'

/** The non-secret data of a stream key. */
export interface KeyFingerprint {
  readonly path: string
  /** Lower-case hex SHA-256 of the whole key. */
  readonly keyHash: string
}

const KEY = /^([a-z0-9]{8,64})-[0-9a-f]{32}$/

/**
 * Parses the key that a publisher sends: `<path>-<secret>`. A query and surrounding white space are ignored. Null when the
 * format is invalid. The secret is not passed on.
 */
export function fingerprintKey(name: string): KeyFingerprint | null {
  const key = name.split('?', 1)[0]!.trim()
  const path = KEY.exec(key)?.[1]
  if (path === undefined) return null
  // A substring would keep the whole key in memory, a copy does not.
  return { path: Buffer.from(path).toString(), keyHash: createHash('sha256').update(key).digest('hex') }
}
