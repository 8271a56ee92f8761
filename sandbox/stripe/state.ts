import type { TestCard } from './cards.ts'

/** The objects that the fake keeps. They have the fields of Stripe's API that Crier or a test uses. */

export interface Customer {
  readonly id: string
  readonly object: 'customer'
  readonly created: number
  readonly livemode: boolean
  email: string | null
  name: string | null
  metadata: Record<string, string>
}

export interface Method {
  readonly id: string
  readonly object: 'payment_method'
  readonly created: number
  readonly livemode: boolean
  readonly type: 'card'
  readonly card: { brand: string; last4: string; exp_month: number; exp_year: number; fingerprint: string }
  customer: string | null
  metadata: Record<string, string>
}

export interface ApiFault {
  readonly type: string
  readonly code?: string
  readonly decline_code?: string
  readonly message: string
  readonly param?: string
  readonly payment_intent?: Intent
  readonly payment_method?: Method
}

export interface Intent {
  readonly id: string
  readonly object: 'payment_intent'
  readonly created: number
  readonly livemode: boolean
  amount: number
  amount_received: number
  amount_capturable: number
  currency: string
  customer: string | null
  description: string | null
  metadata: Record<string, string>
  status:
    | 'requires_payment_method'
    | 'requires_confirmation'
    | 'requires_action'
    | 'processing'
    | 'succeeded'
    | 'canceled'
  client_secret: string
  payment_method: string | null
  setup_future_usage: string | null
  next_action: { type: string; redirect_to_url?: { url: string } } | null
  last_payment_error: Omit<ApiFault, 'payment_intent'> | null
  latest_charge: string | null
  canceled_at: number | null
  cancellation_reason: string | null
  payment_method_types: string[]
}

export interface SetupIntent {
  readonly id: string
  readonly object: 'setup_intent'
  readonly created: number
  readonly livemode: boolean
  customer: string | null
  status: Intent['status']
  client_secret: string
  payment_method: string | null
  usage: string
  metadata: Record<string, string>
  last_setup_error: Omit<ApiFault, 'payment_intent'> | null
  next_action: Intent['next_action']
}

export interface Charge {
  readonly id: string
  readonly object: 'charge'
  readonly created: number
  readonly livemode: boolean
  readonly amount: number
  amount_refunded: number
  readonly currency: string
  readonly payment_intent: string
  readonly payment_method: string
  readonly paid: boolean
  readonly status: 'succeeded' | 'failed'
  refunded: boolean
  disputed: boolean
  metadata: Record<string, string>
}

export interface Refund {
  readonly id: string
  readonly object: 'refund'
  readonly created: number
  readonly amount: number
  readonly currency: string
  readonly charge: string
  readonly payment_intent: string
  status: 'pending' | 'succeeded' | 'failed'
  metadata: Record<string, string>
}

export interface Dispute {
  readonly id: string
  readonly object: 'dispute'
  readonly created: number
  readonly livemode: boolean
  readonly amount: number
  readonly currency: string
  readonly charge: string
  readonly payment_intent: string
  reason: string
  status: 'needs_response' | 'under_review' | 'won' | 'lost'
}

export interface StripeEvent {
  readonly id: string
  readonly object: 'event'
  readonly api_version: string
  readonly created: number
  readonly livemode: boolean
  readonly type: string
  readonly pending_webhooks: number
  readonly request: { readonly id: string | null; readonly idempotency_key: string | null }
  readonly data: { readonly object: object }
}

/** A kept reply to a request with an idempotency key. */
export interface KeptReply {
  readonly request: string
  readonly at: number
  status: number | undefined
  body: string
}

export class StripeState {
  readonly customers = new Map<string, Customer>()
  readonly methods = new Map<string, Method>()
  readonly cards = new Map<string, TestCard>()
  readonly intents = new Map<string, Intent>()
  readonly setups = new Map<string, SetupIntent>()
  readonly charges = new Map<string, Charge>()
  readonly refunds = new Map<string, Refund>()
  readonly disputes = new Map<string, Dispute>()
  readonly replies = new Map<string, KeptReply>()
  readonly events: StripeEvent[] = []
  /** Cards that were confirmed by the payer once, by method. */
  readonly trusted = new Set<string>()
}

/** A refusal of the API. */
export class StripeFault extends Error {
  readonly status: number
  readonly fault: ApiFault

  constructor(status: number, fault: ApiFault) {
    super(fault.message)
    this.status = status
    this.fault = fault
  }
}

export function invalid(message: string, param?: string, code?: string): StripeFault {
  return new StripeFault(400, {
    type: 'invalid_request_error',
    message,
    ...(code && { code }),
    ...(param && { param }),
  })
}

export function missing(what: string, id: string): StripeFault {
  return new StripeFault(404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${what}: '${id}'`,
    param: 'id',
  })
}
