import type { Clock } from '../../../../core/clock.ts'
import type { SealedBox } from '../../../../tools/sealed-box.ts'
import type { Sql } from '../../../../core/sql.ts'
import { OutgoingError, type Outgoing } from '../../../../fetch/outgoing.ts'
import { retryAfterOf } from '../../../../fetch/retry-after.ts'
import { REPLY_BYTES, resultOf, TIMEOUT_MS, topicOf, type PushMessage, type PushResult } from './message.ts'
import type { NewDeviceData } from './schemas.ts'
import { pushKeys } from './tables.ts'

export type Subscription = NonNullable<NewDeviceData['subscription']>

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

  async send(subscription: Subscription, message: PushMessage): Promise<PushResult> {
    const { clock, contact, outgoing } = this.#parts
    const { data, text, title, ttlSeconds, unreadCount, urgent } = message
    const payload = JSON.stringify({ ...data, title, text, unreadCount })
    const { endpoint, keys } = subscription
    const { default: webPush } = await import('web-push')
    const { body, headers } = webPush.generateRequestDetails({ endpoint, keys }, payload, {
      vapidDetails: { subject: contact, ...(await this.#keysOf()) },
      TTL: ttlSeconds,
      urgency: urgent ? 'high' : 'normal',
      topic: topicOf(message),
      contentEncoding: 'aes128gcm',
    })
    try {
      const limits = { maxBytes: REPLY_BYTES, cut: true, timeoutMs: TIMEOUT_MS, wholly: true }
      const reply = await outgoing.send({ method: 'POST', url: endpoint, headers, body, ...limits })
      const { status } = reply
      if (status === 404 || status === 410) return { outcome: 'gone', error: `The push service replied ${status}.` }
      return resultOf(status, '', retryAfterOf(reply.headers, clock.now()))
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
    const { default: webPush } = await import('web-push')
    const made = webPush.generateVAPIDKeys()
    const row = { name, publicKey: made.publicKey, privateKeySealed: secrets.seal(made.privateKey) }
    // Several nodes can start at once. All use the keys that were stored first.
    await pushKeys.insert(sql, { ...row, createdAt: new Date(clock.now()) }, { ignoreConflict: true })
    const { privateKeySealed, publicKey } = (await pushKeys.first(sql, { name })) ?? row
    return { publicKey, privateKey: secrets.open(privateKeySealed) }
  }
}
