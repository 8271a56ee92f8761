import { connect, type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { text as textOf } from 'node:stream/consumers'
import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import { retryAfterOf } from '../../../../fetch/retry-after.ts'
import { resultOf, TIMEOUT_MS, topicOf, type PushMessage, type PushResult } from './message.ts'

/** APNs refuses tokens of more than an hour, and new ones more often than every 20 minutes. */
const TOKEN_MS = 40 * MINUTE
/** An idle connection is closed. */
const IDLE_MS = 30 * MINUTE

interface Options {
  /** In PEM. */
  readonly key: string
  readonly keyId: string
  readonly teamId: string
  /** The bundle id of the app. */
  readonly topic: string
  readonly url: string
  readonly clock: Clock
}

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly reason: string
}

/**
 * Sends messages by the Apple Push Notification service, over one HTTP/2 connection. Errors:
 * https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
 */
export class Apns {
  readonly #options: Options
  #session: ClientHttp2Session | undefined
  #token: { readonly value: Promise<string>; readonly until: number } | undefined

  constructor(options: Options) {
    this.#options = options
  }

  async send(deviceToken: string, message: PushMessage): Promise<PushResult> {
    const { clock, topic } = this.#options
    const headers = {
      ':method': 'POST',
      ':path': `/3/device/${encodeURIComponent(deviceToken)}`,
      authorization: `bearer ${await this.#providerToken()}`,
      'apns-id': message.id,
      'apns-topic': topic,
      'apns-push-type': 'alert',
      'apns-priority': message.urgent ? '10' : '5',
      'apns-expiration': String(Math.floor(clock.now() / SECOND) + message.ttlSeconds),
      'apns-collapse-id': topicOf(message),
      'content-type': 'application/json',
    }
    let reply: Reply
    try {
      reply = await this.#exchange(headers, payloadOf(message))
    } catch (error) {
      return { outcome: 'later', error: `${new URL(this.#options.url).host}: ${(error as Error).message}` }
    }
    return this.#resultOf(reply)
  }

  close(): void {
    this.#session?.destroy()
    this.#session = undefined
  }

  #resultOf({ headers, reason, status }: Reply): PushResult {
    const why = `The push service replied ${status} ${reason}.`
    if (status === 410 || reason === 'BadDeviceToken' || reason === 'DeviceTokenNotForTopic') {
      return { outcome: 'gone', error: why }
    }
    if (reason === 'ExpiredProviderToken') {
      this.#token = undefined
      return { outcome: 'later', error: why }
    }
    return resultOf(status, reason, retryAfterOf(headers, this.#options.clock.now()))
  }

  #providerToken(): Promise<string> {
    const now = this.#options.clock.now()
    if (this.#token === undefined || this.#token.until <= now) {
      this.#token = { value: this.#sign(now), until: now + TOKEN_MS }
    }
    return this.#token.value
  }

  async #sign(now: number): Promise<string> {
    const { key, keyId, teamId } = this.#options
    const { importPKCS8, SignJWT } = await import('jose')
    return new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: keyId })
      .setIssuer(teamId)
      .setIssuedAt(Math.floor(now / SECOND))
      .sign(await importPKCS8(key, 'ES256'))
  }

  async #exchange(headers: OutgoingHttpHeaders, body: string): Promise<Reply> {
    const session = this.#connected()
    const stream = session.request(headers)
    const late = setTimeout(() => {
      stream.destroy(new Error(`did not respond within ${TIMEOUT_MS / SECOND} s`))
      // The connection may be dead. The next message gets another one.
      session.destroy()
    }, TIMEOUT_MS)
    try {
      const { promise, reject, resolve } = Promise.withResolvers<IncomingHttpHeaders & { ':status'?: number }>()
      stream.on('response', resolve)
      stream.on('error', reject)
      stream.on('close', () => reject(new Error('the connection was closed')))
      stream.end(body)
      const replied = await promise
      const text = await textOf(stream)
      return { status: Number(replied[':status']), headers: replied, reason: reasonOf(text) }
    } finally {
      clearTimeout(late)
    }
  }

  #connected(): ClientHttp2Session {
    const open = this.#session
    if (open !== undefined && !open.closed && !open.destroyed) return open
    const session = connect(this.#options.url)
    const forget = () => {
      if (this.#session === session) this.#session = undefined
    }
    // The requests of the session get its errors.
    session.on('error', forget)
    session.on('goaway', forget)
    session.on('close', forget)
    session.setTimeout(IDLE_MS, () => session.close())
    session.unref()
    this.#session = session
    return session
  }
}

function payloadOf({ data, text, title, unreadCount }: PushMessage): string {
  const badge = unreadCount === undefined ? {} : { badge: unreadCount }
  return JSON.stringify({ ...data, aps: { alert: { title, body: text }, sound: 'default', ...badge } })
}

function reasonOf(text: string): string {
  try {
    return (JSON.parse(text) as { reason?: string }).reason ?? ''
  } catch {
    return ''
  }
}
