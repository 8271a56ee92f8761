import { createHash } from 'node:crypto'

const ALPHABET = '234567abcdefghijklmnopqrstuvwxyz'

/**
 * The record key of a post: a TID (atproto.com/specs/tid), which is the same for every attempt. Its time is that of the
 * post, in microseconds; the rest comes from the key, so that two posts of the same millisecond differ.
 */
export function tidOf(key: string, createdAt: number): string {
  const hash = createHash('sha256').update(key).digest()
  const micros = BigInt(Math.floor(createdAt)) * 1_000n + BigInt(hash.readUInt16BE(0) % 1_000)
  const clockId = BigInt(hash.readUInt16BE(2) % 1_024)
  let bits = (micros << 10n) | clockId
  let text = ''
  for (let index = 0; index < 13; index += 1) {
    text = (ALPHABET[Number(bits & 31n)] ?? '') + text
    bits >>= 5n
  }
  return text
}
