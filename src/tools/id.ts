import { hash, randomBytes } from 'node:crypto'
import { lentRandom } from './random.ts'

/** Two hexadecimal digits per byte value. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
let lastMs = 0
let printedMs = 0
let printed = ''
let sequence = 0

/**
 * A UUID of version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, a 12-bit counter that orders the ids of one
 * process within a millisecond, and 62 random bits.
 */
export function uuidv7(nowMs: number): string {
  if (nowMs > lastMs) {
    lastMs = nowMs
    sequence = lentRandom(2).readUInt16BE(0) & 0x7ff
  } else {
    sequence += 1
    if (sequence > 0xfff) {
      lastMs += 1
      sequence = 0
    }
  }
  if (lastMs !== printedMs) {
    printedMs = lastMs
    const time = lastMs.toString(16).padStart(12, '0')
    printed = `${time.slice(0, 8)}-${time.slice(8)}-7`
  }
  const tail = lentRandom(8)
  const byte = (index: number) => HEX[tail[index] as number] as string
  const variant = HEX[((tail[0] as number) & 0x3f) | 0x80] as string
  const end = byte(2) + byte(3) + byte(4) + byte(5) + byte(6) + byte(7)
  return `${printed}${HEX[sequence >> 8]?.[1]}${HEX[sequence & 0xff]}-${variant}${byte(1)}-${end}`
}

/** The smallest UUID of version 7 of a point in time. All UUIDs that were made earlier are smaller. */
export function firstIdOf(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a string is a UUID in the form that Crier writes (lower case). */
export function isUuid(value: string): boolean {
  return UUID.test(value)
}

/** A random token of `bytes` bytes (default 32), base64url. It cannot be guessed. */
export function secretToken(bytes = 32): string {
  return randomBytes(bytes).toString('base64url')
}

/** The SHA-256 of a text in lower-case hex. Tokens and keys of high entropy are stored and looked up by it. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}

const requestPrefix = randomBytes(5).toString('hex')
const COUNTED = Array.from({ length: 36 ** 2 }, (_, index) => index.toString(36).padStart(2, '0'))
let requestCounter = 0
let requestStem = ''

/** The id of a request. A random prefix makes it unique across processes; a counter makes it cheap. */
export function requestId(): string {
  const low = requestCounter % COUNTED.length
  if (low === 0) requestStem = `req_${requestPrefix}${(requestCounter / COUNTED.length).toString(36).padStart(3, '0')}`
  requestCounter += 1
  return requestStem + (COUNTED[low] as string)
}
