import { createHash } from 'node:crypto'

const ALPHABET = '234567abcdefghijklmnopqrstuvwxyz'
const MINUTE_MICROS = 60_000_000

/**
 * The record key of a post: a TID (atproto.com/specs/tid) that is the same for every attempt. Many posts of an account
 * can have the same time, and a put under the key of another post would replace that post. So 36 bits of a hash make
 * the key unique: they choose the microsecond within the minute before the time of the post, and the clock id. Bluesky
 * sorts posts by `createdAt`, not by key.
 */
export function tidOf(key: string, createdAt: number): string {
  const hash = createHash('sha256').update(key).digest()
  const micros = BigInt(Math.floor(createdAt)) * 1_000n - BigInt(hash.readUIntBE(0, 6) % MINUTE_MICROS)
  const clockId = BigInt(hash.readUInt16BE(6) % 1_024)
  let bits = (micros << 10n) | clockId
  let text = ''
  for (let index = 0; index < 13; index += 1) {
    text = (ALPHABET[Number(bits & 31n)] ?? '') + text
    bits >>= 5n
  }
  return text
}
