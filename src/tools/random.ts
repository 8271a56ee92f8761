import { randomFillSync } from 'node:crypto'

const pool = Buffer.allocUnsafeSlow(4_096)
let used = pool.length

/**
 * Random bytes from a pool. One call of the operating system costs about the same for a few bytes as for a thousand. No
 * byte is returned twice.
 * @returns a view of the pool, valid until the next call; not for secrets
 */
export function lentRandom(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

/** Random bytes for secrets. They are erased from the pool. */
export function randomBytesOf(count: number): Buffer {
  const lent = lentRandom(count)
  const bytes = Buffer.from(lent)
  lent.fill(0)
  return bytes
}

/** The same as lower-case hexadecimal digits, two per byte. */
export function randomHex(count: number): string {
  return randomBytesOf(count).toString('hex')
}
