import { createHash, randomBytes, randomFillSync } from 'node:crypto'

const pool = Buffer.allocUnsafe(4096)
let used = pool.length
let lastMs = 0
let sequence = 0

function random(bytes: number): Buffer {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += bytes
  return pool.subarray(used - bytes, used)
}

/**
 * A UUID of version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, a 12-bit counter that keeps the ids of one
 * process and millisecond in order, 62 random bits.
 */
export function uuidv7(nowMs: number): string {
  if (nowMs > lastMs) {
    lastMs = nowMs
    sequence = random(2).readUInt16BE(0) & 0x7ff
  } else {
    sequence += 1
    if (sequence > 0xfff) {
      lastMs += 1
      sequence = 0
    }
  }
  const time = lastMs.toString(16).padStart(12, '0')
  const tail = random(8)
  tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80
  const hex = tail.toString('hex')
  const counter = sequence.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${hex.slice(0, 4)}-${hex.slice(4)}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a string is a UUID in the one spelling that Crier writes (lower case). */
export function isUuid(value: string): boolean {
  return UUID.test(value)
}

/** An unguessable token of `bytes` random bytes (default 32), base64url. */
export function secretToken(bytes = 32): string {
  return randomBytes(bytes).toString('base64url')
}

/** Lower-case hex SHA-256: how tokens and keys of high entropy are stored and looked up. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const requestPrefix = randomBytes(5).toString('hex')
const COUNTED = Array.from({ length: 36 ** 2 }, (_, index) => index.toString(36).padStart(2, '0'))
let requestCounter = 0
let requestStem = ''

/** An id for one request: unique over processes by a random prefix, cheap by a counter. */
export function requestId(): string {
  const low = requestCounter % COUNTED.length
  if (low === 0) requestStem = `req_${requestPrefix}${(requestCounter / COUNTED.length).toString(36).padStart(3, '0')}`
  requestCounter += 1
  return requestStem + (COUNTED[low] as string)
}
