import { randomFillSync } from 'node:crypto'

const pool = Buffer.allocUnsafeSlow(4_096)
let used = pool.length

/**
 * Random bytes from a supply that is filled a page at a time: to ask the operating system for a few costs as much as for
 * a thousand. Nothing is handed out twice.
 * @returns a view of the supply, good until the next call: for what is no secret
 */
export function lentRandom(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

/** Random bytes for secrets: what was handed out is wiped from the supply. */
export function randomBytesOf(count: number): Buffer {
  const lent = lentRandom(count)
  const bytes = Buffer.from(lent)
  lent.fill(0)
  return bytes
}

/** The same as lower-case hexadecimal digits, two a byte. */
export function randomHex(count: number): string {
  return randomBytesOf(count).toString('hex')
}
