import { createHmac } from 'node:crypto'
import { randomBytesOf } from '../../../tools/random.ts'

/** Signatures by Standard Webhooks 1.0 (https://github.com/standard-webhooks/standard-webhooks). */

const PREFIX = 'whsec_'
/** Bytes of a secret. The standard allows 24 to 64. */
const SECRET_BYTES = 32

export function newSecret(): string {
  return PREFIX + randomBytesOf(SECRET_BYTES).toString('base64')
}

export interface SignedMessage {
  readonly id: string
  /** Time of the attempt, milliseconds since the epoch. */
  readonly now: number
  readonly body: string
}

/** The headers of a message, with one signature for each valid secret. */
export function signedHeaders({ body, id, now }: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
