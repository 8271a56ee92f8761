import { secretToken, sha256 } from '../../../tools/id.ts'
import { randomHex } from '../../../tools/random.ts'

/** A fresh ingest key. Only `key` is secret. */
export interface IngestKey {
  /** `<path>-<secret>`: what a streamer enters in OBS. */
  readonly key: string
  /** The public part: may appear in logs. */
  readonly path: string
  /** Lower-case hex SHA-256 of the whole key. */
  readonly hash: string
}

/** Makes an ingest key with a secret of 128 random bits. */
export function newIngestKey(): IngestKey {
  const path = randomHex(8)
  const key = `${path}-${randomHex(16)}`
  return { key, path, hash: sha256(key) }
}

/** Makes a token for WHIP. RTMP keys have another format. */
export function newWhipToken(): { readonly token: string; readonly hash: string } {
  const token = secretToken()
  return { token, hash: sha256(token) }
}

/** The suffix of the path of a backup key. The path of a primary key is 16 hexadecimal digits. */
const BACKUP_MARK = 'b'

/** Makes the key of a second publisher, for a stream whose primary key has this path. */
export function newBackupKey(path: string): Pick<IngestKey, 'key' | 'hash'> {
  const key = `${backupPath(path)}-${randomHex(16)}`
  return { key, hash: sha256(key) }
}

export function backupPath(path: string): string {
  return `${path}${BACKUP_MARK}`
}

/** The path of a stream's primary key, given the path of either key. */
export function primaryPath(path: string): string {
  return /^[0-9a-f]{16}b$/.test(path) ? path.slice(0, -BACKUP_MARK.length) : path
}
