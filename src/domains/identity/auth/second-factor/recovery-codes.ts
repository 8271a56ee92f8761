import { randomBytes } from 'node:crypto'
import type { Key } from '../../../../tools/keys.ts'

const COUNT = 10
const LENGTH = 16
const GROUP = 4
/** Crockford's Base32: no letters that look like digits. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** A new set of codes with 80 random bits each, in groups that people can copy: `k3v9-…`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => {
    const letters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('')
    return letters.match(new RegExp(`.{${GROUP}}`, 'g'))?.join('-') ?? letters
  })
}

/** What a code is stored as: its MAC for one user. Case, spaces and hyphens do not matter. */
export function recoveryCodeHash(key: Key, userId: string, code: string): string {
  const letters = code.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return key.mac(`${userId} ${letters}`, 'hex')
}
