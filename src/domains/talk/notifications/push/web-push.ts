import { createHash } from 'node:crypto'
import webPush from 'web-push'
import { HOUR, SECOND, type Clock } from '../../../../core/clock.ts'
import type { SealedBox } from '../../../../core/sealed-box.ts'
import type { Sql } from '../../../../core/sql.ts'
import { OutgoingError, type Outgoing } from '../../../../fetch/outgoing.ts'
import type { NewDeviceData } from './schemas.ts'
import { pushKeys } from './tables.ts'

const TIMEOUT_MS = 10 * SECOND
/** Replies of push services are short. */
const REPLY_BYTES = 10_000

export type Subscription = NewDeviceData['subscription']

export interface PushMessage {
  /** JSON. */
  readonly payload: string
  readonly urgent: boolean
  readonly ttlSeconds: number
  /** A later message with the same topic replaces this one if the device has not got it yet. */
  readonly topic: string
}

/** What came of a message. `gone`: the subscription has ended. `later`: another attempt can help. */
export type PushResult =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'gone' | 'later' | 'refused'; readonly error: string }

interface Keys {
  readonly publicKey: string
  readonly privateKey: string
}

/** Sends messages to browsers by Web Push (RFC 8030), encrypted for the browser (RFC 8291). */
export class WebPush {
  readonly #parts: { sql: Sql; clock: Clock; secrets: SealedBox; outgoing: Outgoing; contact: string }
  #keys: Promise<Keys> | undefined

  /** @param parts `contact` is a `mailto:` or `https:` URL that push services can use to reach the operator */
  constructor(parts: { sql: Sql; clock: Clock; secrets: SealedBox; outgoing: Outgoing; contact: string }) {
    this.#parts = parts
  }

  /** The public key that browsers subscribe with. Makes the keys if there are none. */
  async publicKey(): Promise<string> {
    return (await this.#keysOf()).publicKey
  }

  async send(subscription: Subscription, { payload, topic, ttlSeconds, urgent }: PushMessage): Promise<PushResult> {
    const { contact, outgoing } = this.#parts
    const { endpoint, keys } = subscription
    const { body, headers } = webPush.generateRequestDetails({ endpoint, keys }, payload, {
      vapidDetails: { subject: contact, ...(await this.#keysOf()) },
      TTL: ttlSeconds,
      urgency: urgent ? 'high' : 'normal',
      topic: createHash('sha256').update(topic).digest('base64url').slice(0, 32),
      contentEncoding: 'aes128gcm',
    })
    try {
      const limits = { maxBytes: REPLY_BYTES, cut: true, timeoutMs: TIMEOUT_MS }
      const reply = await outgoing.send({ method: 'POST', url: endpoint, headers, body, ...limits })
      return resultOf(reply.status)
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      return { outcome: error.fault === 'refused' ? 'refused' : 'later', error: error.message }
    }
  }

  #keysOf(): Promise<Keys> {
    this.#keys ??= this.#load().catch((error: unknown) => {
      this.#keys = undefined
      throw error
    })
    return this.#keys
  }

  async #load(): Promise<Keys> {
    const { clock, secrets, sql } = this.#parts
    const name = 'vapid'
    const made = webPush.generateVAPIDKeys()
    const row = { name, publicKey: made.publicKey, privateKeySealed: secrets.seal(made.privateKey) }
    // Several nodes can start at once. All use the keys that were stored first.
    await pushKeys.insert(sql, { ...row, createdAt: new Date(clock.now()) }, { ignoreConflict: true })
    const { privateKeySealed, publicKey } = (await pushKeys.first(sql, { name })) ?? row
    return { publicKey, privateKey: secrets.open(privateKeySealed) }
  }
}

function resultOf(status: number): PushResult {
  const error = `The push service replied ${status}.`
  if (status >= 200 && status < 300) return { outcome: 'accepted' }
  if (status === 404 || status === 410) return { outcome: 'gone', error }
  return { outcome: status === 429 || status >= 500 ? 'later' : 'refused', error }
}

/** How long push services keep a message for a device that is off, unless its type says otherwise. */
export const DEFAULT_TTL_SECONDS = (24 * HOUR) / SECOND
