import type { ServiceAccount } from '../../../../config/push-settings.ts'
import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import { OutgoingError, type Outgoing, type OutgoingReply } from '../../../../fetch/outgoing.ts'
import { retryAfterOf } from '../../../../fetch/retry-after.ts'
import { OPEN_RULES } from '../../../../fetch/target.ts'
import { REPLY_BYTES, resultOf, TIMEOUT_MS, topicOf, type PushMessage, type PushResult } from './message.ts'

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging'
const ASSERTION = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** The longest life of an assertion. */
const HOUR_SECONDS = 3_600
/** How long before its expiry an access token is replaced. */
const EARLY_MS = 5 * MINUTE
/** How long FCM asks to wait after 429 without `Retry-After`. */
const QUOTA_WAIT_SECONDS = 60

interface AccessToken {
  readonly value: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

interface Options {
  readonly account: ServiceAccount
  /** Without a slash at the end. */
  readonly url: string
  readonly clock: Clock
  readonly outgoing: Outgoing
}

/**
 * Sends messages by the HTTP v1 API of Firebase Cloud Messaging, with access tokens by OAuth 2.0 (RFC 7523). Errors:
 * https://firebase.google.com/docs/cloud-messaging/error-codes
 */
export class Fcm {
  readonly #options: Options
  #token: Promise<AccessToken> | undefined

  constructor(options: Options) {
    this.#options = options
  }

  async send(token: string, message: PushMessage): Promise<PushResult> {
    const { account, clock, url } = this.#options
    try {
      const access = await this.#accessToken()
      const reply = await this.#post(`${url}/v1/projects/${encodeURIComponent(account.project_id)}/messages:send`, {
        headers: { authorization: `Bearer ${access}`, 'content-type': 'application/json' },
        body: JSON.stringify({ message: bodyOf(token, message) }),
      })
      if (reply.status === 401) this.#token = undefined
      return fcmResult(reply, clock.now())
    } catch (error) {
      if (error instanceof OutgoingError || error instanceof TokenError) {
        return { outcome: 'later', error: error.message }
      }
      throw error
    }
  }

  async #accessToken(): Promise<string> {
    const tried = this.#token
    const known = await tried?.catch(() => undefined)
    if (known !== undefined && known.until > this.#options.clock.now()) return known.value
    // Concurrent messages share one request.
    if (this.#token === tried) this.#token = this.#fetchToken()
    return (await (this.#token ?? this.#fetchToken())).value
  }

  async #fetchToken(): Promise<AccessToken> {
    const { account, clock } = this.#options
    const at = Math.floor(clock.now() / SECOND)
    const { importPKCS8, SignJWT } = await import('jose')
    const assertion = await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: account.private_key_id })
      .setIssuer(account.client_email)
      .setAudience(account.token_uri)
      .setIssuedAt(at)
      .setExpirationTime(at + HOUR_SECONDS)
      .sign(await importPKCS8(account.private_key, 'RS256'))
    const reply = await this.#post(account.token_uri, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: ASSERTION, assertion }).toString(),
    })
    const { access_token: value, expires_in: seconds = HOUR_SECONDS } = json(reply) as {
      access_token?: string
      expires_in?: number
    }
    if (reply.status !== 200 || value === undefined) {
      throw new TokenError(`Google gave no access token for FCM_SERVICE_ACCOUNT: it replied ${reply.status}.`)
    }
    return { value, until: clock.now() + seconds * SECOND - EARLY_MS }
  }

  #post(url: string, request: { headers: Readonly<Record<string, string>>; body: string }): Promise<OutgoingReply> {
    const limits = { maxBytes: REPLY_BYTES, cut: true, timeoutMs: TIMEOUT_MS, wholly: true }
    return this.#options.outgoing.send({ method: 'POST', url, ...request, ...limits }, OPEN_RULES)
  }
}

class TokenError extends Error {
  override readonly name = 'TokenError'
}

function bodyOf(token: string, message: PushMessage) {
  const { data, id, text, title, ttlSeconds, unreadCount, urgent } = message
  const fields = Object.entries({ ...data, messageId: id, unreadCount: unreadCount ?? null })
  const topic = topicOf(message)
  return {
    token,
    notification: { title, body: text },
    // Values must be strings.
    data: Object.fromEntries(fields.flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]]))),
    android: {
      priority: urgent ? 'HIGH' : 'NORMAL',
      ttl: `${ttlSeconds}s`,
      collapse_key: topic,
      notification: { tag: topic },
    },
  }
}

function fcmResult(reply: OutgoingReply, now: number): PushResult {
  const { status } = reply
  const { error } = json(reply) as { error?: { status?: string; details?: readonly { errorCode?: string }[] } }
  const code = error?.details?.find(({ errorCode }) => errorCode !== undefined)?.errorCode ?? error?.status ?? ''
  // The app was removed, or its token is of another sender.
  if (code === 'UNREGISTERED' || code === 'SENDER_ID_MISMATCH') {
    return { outcome: 'gone', error: `The push service replied ${status} ${code}.` }
  }
  // Another access token can help.
  if (status === 401) return { outcome: 'later', error: `The push service replied 401 ${code}.` }
  const usual = status === 429 ? QUOTA_WAIT_SECONDS : undefined
  return resultOf(status, code, retryAfterOf(reply.headers, now) ?? usual)
}

function json({ bytes }: OutgoingReply): object {
  try {
    return (JSON.parse(bytes.toString()) ?? {}) as object
  } catch {
    return {}
  }
}
