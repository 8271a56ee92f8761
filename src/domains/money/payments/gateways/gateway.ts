import type { Money } from '../purposes.ts'

/**
 * A gateway takes money. Everything that Crier knows of gateways is in this file; each gateway has a folder.
 *
 * A gateway may fail in two ways. `GatewayRefusal`: it has answered, and the answer is no. `GatewayAway`: there is no
 * answer, so the outcome is unknown and has to be looked up.
 */
export interface Gateway {
  /** Its name in the API, in tables, and in the ledger's account `gateway:<key>`. */
  readonly key: string
  /** What a front end needs to know. */
  readonly config: GatewayConfig
  /**
   * Makes the payment known to the gateway. Takes no money: the payer, or `confirm`, does that later. Repeating it with
   * the same payment makes nothing new.
   */
  create(payment: NewGatewayPayment): Promise<GatewayPayment>
  /** The payment as the gateway sees it now. Undefined when the gateway has no such payment. */
  retrieve(reference: string, known: KnownPayment): Promise<GatewayPayment | undefined>
  /** Ends a payment, so that it can no longer be paid. Returns what it has become, which can be `succeeded`. */
  cancel(reference: string, known: KnownPayment): Promise<GatewayPayment>
  /** Payments that changed in a period, for the reconciliation. */
  list(period: Period): AsyncIterable<GatewayPayment>
  /** `list` says only that something has arrived for a payment. What it is worth follows from what is stored. */
  readonly listsHints?: boolean
  /** Set by gateways that keep methods of payers. */
  readonly vault?: GatewayVault
  /** Set by gateways that can pay back. */
  readonly refund?: (refund: NewGatewayRefund) => Promise<GatewayRefund>
  /** Set by gateways that send webhooks. @throws AppError webhook_invalid */
  readonly readEvent?: (request: WebhookRequest) => GatewayEventData
  /** Reads a webhook that was checked and stored before, from its payload. */
  readonly readStoredEvent?: (payload: GatewayEventData['payload']) => GatewayEventData
}

/** Methods that payers have saved. */
export interface GatewayVault {
  /** The id of the payer's customer, made when there is none. Repeating it with the same user makes nothing new. */
  customer(user: { readonly id: string; readonly email: string; readonly name: string }): Promise<string>
  /** Begins saving a method. */
  setUp(customer: string, key: string): Promise<GatewaySetup>
  retrieveSetup(reference: string): Promise<GatewaySetup | undefined>
  /** Takes the money from a saved method without the payer. Repeating it with the same payment charges nothing more. */
  confirm(reference: string, method: string, key: string): Promise<GatewayPayment>
  detach(method: string): Promise<void>
}

export interface GatewayConfig {
  readonly title: string
  readonly kind: 'card' | 'transfer' | 'crypto'
  readonly publicKey: string | null
  /** The script that shows the gateway's form in the payer's browser. */
  readonly scriptUrl: string | null
  /** ISO 4217. */
  readonly currencies: readonly string[]
  /** The smallest payment that the gateway takes, in minor units by currency. Without an entry, there is none. */
  readonly minimums: Readonly<Record<string, number>>
  readonly savesMethods: boolean
  /** Coins or tokens, of a gateway for them. */
  readonly coins: readonly string[]
}

export interface NewGatewayPayment {
  readonly id: string
  readonly reference: string
  readonly userId: string
  readonly total: Money
  readonly description: string
  /** The language tag in which the payer reads. English without one. */
  readonly language?: string
  readonly customer?: string
  /** Keeps the payer's method for later charges. */
  readonly saveMethod: boolean
  readonly offSession: boolean
  readonly method?: string
  readonly coin?: string
  /** The payment expires then, because a coupon is held for it. In milliseconds since the epoch. */
  readonly couponHeldUntil?: number
}

/**
 * What Crier has stored of a payment, for gateways that keep nothing themselves. If `data` has a time as `watchUntil`, the
 * payment is looked at until then, also after it has ended.
 */
export interface KnownPayment {
  readonly id: string
  readonly total: Money
  readonly data: Readonly<Record<string, unknown>>
  /** Minor units that are settled. */
  readonly received: number
  /** Whether it still waits for its outcome. */
  readonly isOpen: boolean
  /** In milliseconds since the epoch. */
  readonly expiresAt: number | null
}

/** A payment as its gateway sees it. */
export interface GatewayPayment {
  readonly reference: string
  /** The id of Crier's payment, if the gateway knows it. */
  readonly paymentId?: string
  readonly status: 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'cancelled' | 'expired'
  readonly total: Money
  /** Minor units that have arrived for good. */
  readonly received: number
  readonly failure?: GatewayFailure
  /** With it the payer's browser completes the payment. Never stored. */
  readonly clientSecret?: string
  readonly refunds: readonly GatewayRefund[]
  readonly dispute?: { readonly reference: string; readonly amount: number; readonly status: 'open' | 'won' | 'lost' }
  /** The method that the payer has saved with the payment. */
  readonly savedMethod?: GatewayMethod
  /** What Crier stores for a gateway that keeps nothing itself. */
  readonly data?: Readonly<Record<string, unknown>>
  readonly expiresAt?: number
  /**
   * The same, in view of what is stored when the payment is locked. Set by gateways whose reply depends on it. Must not
   * call other systems.
   */
  readonly upon?: (stored: KnownPayment) => GatewayPayment
}

export interface GatewayFailure {
  readonly code: string
  readonly message: string
}

export interface NewGatewayRefund {
  readonly id: string
  readonly paymentReference: string
  readonly amount: number
}

export interface GatewayRefund {
  readonly reference: string
  /** The id of Crier's refund, if the gateway knows it. */
  readonly refundId?: string
  readonly amount: number
  readonly status: 'pending' | 'succeeded' | 'failed'
}

export interface GatewayMethod {
  readonly reference: string
  readonly kind: string
  readonly brand: string | null
  readonly last4: string | null
  readonly expiryMonth: number | null
  readonly expiryYear: number | null
  /** The same for the same card, whoever uses it. Null if the gateway does not say. */
  readonly fingerprint: string | null
}

export interface GatewaySetup {
  readonly reference: string
  readonly customer: string | null
  readonly status: 'pending' | 'succeeded' | 'failed'
  readonly clientSecret: string | null
  readonly method?: GatewayMethod
}

export interface Period {
  /** Milliseconds since the epoch; `until` is exclusive. */
  readonly since: number
  readonly until: number
}

export interface WebhookRequest {
  readonly body: string
  readonly signature: string | undefined
}

/** What a webhook says. Only the gateway's own reply to `retrieve` is believed. */
export interface GatewayEventData {
  readonly eventId: string
  readonly type: string
  /** The payment it is about. */
  readonly paymentReference?: string
  /** The id of Crier's payment, as the event gives it. */
  readonly paymentId?: string
  /** The set-up of a method it is about. */
  readonly setupReference?: string
  /** The status that the event claims, to find events that contradict the gateway. */
  readonly claims?: GatewayPayment['status']
  /** Test mode in production or the other way round, or another account. */
  readonly isForeign: boolean
  readonly payload: Readonly<Record<string, unknown>>
}

/** The gateway has answered, and the answer is no. */
export class GatewayRefusal extends Error {
  override readonly name = 'GatewayRefusal'
  readonly failure: GatewayFailure
  /** The payment after the refusal, if the gateway returned it. */
  readonly payment: GatewayPayment | undefined

  constructor(failure: GatewayFailure, payment?: GatewayPayment, cause?: unknown) {
    super(failure.message, { cause })
    this.failure = failure
    this.payment = payment
  }
}

/** The gateway has not answered, or not usefully. Whether it did what it was asked for is unknown. */
export class GatewayAway extends Error {
  override readonly name = 'GatewayAway'
}
