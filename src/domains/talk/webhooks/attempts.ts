import type { IncomingHttpHeaders } from 'node:http'
import { DAY, HOUR, MINUTE, SECOND, type Clock } from '../../../core/clock.ts'
import type { SealedBox } from '../../../tools/sealed-box.ts'
import { OutgoingError, type Outgoing } from '../../../fetch/outgoing.ts'
import { retryAfterOf } from '../../../fetch/retry-after.ts'
import type { Message } from './message.ts'
import { signedHeaders } from './signatures.ts'
import type { WebhookRow } from './tables.ts'

/** The time for lookup, connection, request and reply. */
const TIMEOUT_MS = 10 * SECOND
/** Bytes of a reply that are read and kept. */
export const REPLY_BYTES = 10_000

/** The delays after the first, second, … failure. The last one repeats. */
const DELAYS_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  12 * HOUR,
]

/** How long a message is tried, and how long an endpoint may fail before it is disabled. */
export const RETRY_MS = 3 * DAY

/** The longest time that an endpoint can ask to wait, the longest delay of `DELAYS_MS`. */
const MAX_WAIT_MS = 12 * HOUR

/** The delay before the next attempt, with up to a fifth added or removed by chance. */
export function delayAfter(failures: number, random: () => number = Math.random): number {
  const delay = DELAYS_MS[Math.min(failures, DELAYS_MS.length) - 1] ?? DELAYS_MS[0] ?? SECOND
  return Math.round(delay * (0.8 + 0.4 * random()))
}

/** What came of an attempt. */
export interface AttemptResult {
  readonly ok: boolean
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly httpStatus: number | null
  readonly responseHeaders: Readonly<Record<string, string>> | null
  readonly responseBody: string | null
  /** Why it failed, for people. */
  readonly error: string | null
  readonly durationMs: number
  /** How long the endpoint wants to get nothing, by `Retry-After` of a reply that was no success. 0 without it. */
  readonly waitMs: number
}

/** Sends messages to endpoints, signed with each valid secret. */
export class Attempts {
  readonly #outgoing: Outgoing
  readonly #clock: Clock
  readonly #secrets: SealedBox

  constructor(outgoing: Outgoing, clock: Clock, secrets: SealedBox) {
    this.#outgoing = outgoing
    this.#clock = clock
    this.#secrets = secrets
  }

  async send(webhook: WebhookRow, message: Message, signal: AbortSignal): Promise<AttemptResult> {
    const now = this.#clock.now()
    const signature = signedHeaders({ id: message.messageId, now, body: message.payload }, this.#validSecrets(webhook))
    const requestHeaders = { 'content-type': 'application/json', 'user-agent': 'Crier-Webhooks/1', ...signature }
    const began = performance.now()
    const result = await this.#exchange(webhook.url, requestHeaders, message.payload, signal)
    return { ...result, requestHeaders, durationMs: Math.round(performance.now() - began) }
  }

  #validSecrets({ previousSecretSealed, previousSecretUntil, secretSealed }: WebhookRow): string[] {
    const isValid = previousSecretUntil !== null && Date.parse(previousSecretUntil) > this.#clock.now()
    const sealed = previousSecretSealed !== null && isValid ? [secretSealed, previousSecretSealed] : [secretSealed]
    return sealed.map((secret) => this.#secrets.open(secret))
  }

  async #exchange(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<Omit<AttemptResult, 'requestHeaders' | 'durationMs'>> {
    try {
      const request = { method: 'POST', url, headers, body, signal, timeoutMs: TIMEOUT_MS, wholly: true }
      const reply = await this.#outgoing.send({ ...request, maxBytes: REPLY_BYTES, cut: true })
      const ok = reply.status >= 200 && reply.status < 300
      return {
        ok,
        httpStatus: reply.status,
        responseHeaders: flat(reply.headers),
        // PostgreSQL cannot store the character 0 in text.
        responseBody: reply.bytes.toString('utf8').replaceAll('\0', '�'),
        error: ok ? null : refusal(reply.status),
        waitMs: ok ? 0 : Math.min(MAX_WAIT_MS, (retryAfterOf(reply.headers, this.#clock.now()) ?? 0) * SECOND),
      }
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      const none = { ok: false, httpStatus: null, responseHeaders: null, responseBody: null, waitMs: 0 }
      return { ...none, error: error.message }
    }
  }
}

function refusal(status: number): string {
  return status >= 300 && status < 400
    ? `The endpoint replied ${status}. Redirects are not followed.`
    : `The endpoint replied ${status}.`
}

/** At most this many characters of headers are kept. */
const HEADER_CHARACTERS = 10_000

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {}
  let length = 0
  for (const [name, value] of Object.entries(headers)) {
    const text = Array.isArray(value) ? value.join(', ') : (value ?? '')
    length += name.length + text.length
    if (length > HEADER_CHARACTERS) break
    kept[name] = text.replaceAll('\0', '�')
  }
  return kept
}
