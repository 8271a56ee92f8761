import { secretToken, sha256 } from '../../../core/id.ts'

/** Looks like one of our keys: whatever does not is refused without asking the database. */
export const API_KEY = /^crier_[\w-]{43}$/

const SHOWN = 12

/** A new key: shown once, stored as its SHA-256 (the key has 256 random bits, so no slow hash is called for). */
export interface NewApiKey {
  readonly key: string
  readonly hash: string
  /** The first characters, kept so that the owner knows the key again. */
  readonly prefix: string
}

export function newApiKey(): NewApiKey {
  const key = `crier_${secretToken(32)}`
  return { key, hash: sha256(key), prefix: key.slice(0, SHOWN) }
}
