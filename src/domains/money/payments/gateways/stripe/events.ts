import type { Stripe } from 'stripe'
import { WebhookInvalid } from '../../errors.ts'
import type { GatewayEventData, WebhookRequest } from '../gateway.ts'
import { PAYMENT_ID, statusOf } from './map.ts'

interface Expected {
  readonly secret: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Whether the keys are those of real money. */
  readonly isLive: boolean
}

/** How old a signature may be, or how far in the future, in seconds. Stripe recommends five minutes. */
const TOLERANCE = 300

/**
 * Checks the signature of a webhook, and reads what it is about.
 * @throws AppError webhook_invalid
 */
export function readStripeEvent(
  stripe: Stripe,
  { body, signature }: WebhookRequest,
  { isLive, now, secret }: Expected,
): GatewayEventData {
  const event = verified(stripe, body, signature, secret, now)
  const time = Number(/(?:^|,)t=(\d+)/.exec(signature ?? '')?.[1])
  if (time > now / 1000 + TOLERANCE) throw WebhookInvalid({ message: 'The webhook was signed in the future.' })
  return eventDataOf(event, isLive)
}

/** What an event is about. */
export function eventDataOf(event: Stripe.Event, isLive: boolean): GatewayEventData {
  const object = event.data.object as unknown as EventObject
  const isIntent = event.type.startsWith('payment_intent.')
  const paymentReference = isIntent ? object.id : idOf(object.payment_intent)
  const paymentId = object.metadata?.[PAYMENT_ID]
  return {
    eventId: event.id,
    type: event.type,
    ...(paymentReference !== undefined && { paymentReference }),
    ...(paymentId !== undefined && { paymentId }),
    ...(event.type.startsWith('setup_intent.') && { setupReference: object.id }),
    ...(isIntent && { claims: statusOf(object as unknown as Stripe.PaymentIntent) }),
    isForeign: event.livemode !== isLive || event.account !== undefined,
    payload: event as unknown as Readonly<Record<string, unknown>>,
  }
}

function verified(
  stripe: Stripe,
  body: string,
  signature: string | undefined,
  secret: string,
  now: number,
): Stripe.Event {
  try {
    return stripe.webhooks.constructEvent(body, signature ?? '', secret, TOLERANCE, undefined, now)
  } catch (error) {
    const isOld = error instanceof Error && error.message.includes('tolerance')
    throw WebhookInvalid({
      message: isOld ? 'The webhook was signed too long ago.' : 'The signature of the webhook is not valid.',
      cause: error,
    })
  }
}

interface EventObject {
  readonly id: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly payment_intent?: string | { readonly id: string } | null
}

function idOf(value: EventObject['payment_intent']): string | undefined {
  return typeof value === 'object' ? value?.id : value
}
