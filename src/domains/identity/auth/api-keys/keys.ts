import { secretToken, sha256 } from '../../../../tools/id.ts'

/** How every API key begins. Access tokens never do. */
export const API_KEY_START = 'crier_'

/** The form of an API key. Anything else is refused without a query. */
export const API_KEY = /^crier_[\w-]{43}$/

const PREFIX_LENGTH = 12

/** A new API key. It is shown once; only its SHA-256 is stored, which is enough for 256 random bits. */
export interface NewApiKey {
  readonly key: string
  readonly hash: string
  /** The first characters, so that the owner recognizes the key. */
  readonly prefix: string
}

export function newApiKey(): NewApiKey {
  const key = `${API_KEY_START}${secretToken(32)}`
  return { key, hash: sha256(key), prefix: key.slice(0, PREFIX_LENGTH) }
}
