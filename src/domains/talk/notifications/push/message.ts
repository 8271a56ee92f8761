import { createHash } from 'node:crypto'
import { HOUR, SECOND } from '../../../../core/clock.ts'

/** A message to a device, for every push service. */
export interface PushMessage {
  /** The same for every attempt. */
  readonly id: string
  readonly title: string
  readonly text: string
  /** What clients need to open it. */
  readonly data: Readonly<Record<string, string | number | null>>
  readonly unreadCount: number | undefined
  readonly urgent: boolean
  readonly ttlSeconds: number
  /** A later message with the same topic replaces this one if the device has not got it yet. */
  readonly topic: string
}

/**
 * The outcome of a message. `gone`: the device has ended its subscription. `later`: another attempt can help, after `waitMs`
 * if the service asks for that.
 */
export type PushResult =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'gone' | 'refused'; readonly error: string }
  | { readonly outcome: 'later'; readonly error: string; readonly waitMs?: number }

/** How long push services keep a message for a device that is off, unless its type says otherwise. */
export const DEFAULT_TTL_SECONDS = (24 * HOUR) / SECOND

/** The time for lookup, connection, request and reply. */
export const TIMEOUT_MS = 10 * SECOND
/** Replies of push services are short. */
export const REPLY_BYTES = 10_000

/** A topic in 32 characters, as RFC 8030 requires it. FCM and APNs take longer ones. */
export function topicOf({ topic }: PushMessage): string {
  return createHash('sha256').update(topic).digest('base64url').slice(0, 32)
}

/** The result of a status that means the same for all services. */
export function resultOf(status: number, why: string, waitSeconds?: number): PushResult {
  if (status >= 200 && status < 300) return { outcome: 'accepted' }
  const error = `The push service replied ${status}${why === '' ? '' : ` ${why}`}.`
  if (status !== 429 && status < 500) return { outcome: 'refused', error }
  return { outcome: 'later', error, ...(waitSeconds !== undefined && { waitMs: waitSeconds * SECOND }) }
}
