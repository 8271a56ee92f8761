import type { Clock } from '../../src/core/clock.ts'
import { cardByNumber, TEST_CARDS, type TestCard } from './cards.ts'
import {
  invalid,
  missing,
  StripeFault,
  StripeState,
  type ApiFault,
  type Charge,
  type Dispute,
  type Intent,
  type Method,
  type Refund,
  type SetupIntent,
  type StripeEvent,
} from './state.ts'

/** How a confirmation reaches the fake. */
export interface Confirmation {
  readonly method?: string
  readonly offSession?: boolean
  readonly saveFor?: string
}

/** What the fake does with money: confirmations, charges, refunds and disputes. */
export class Bank {
  readonly state = new StripeState()
  readonly clock: Clock
  /** Called for each event. */
  onEvent: (event: StripeEvent) => void = () => {}
  /** New refunds wait for `settleRefund`, as those to some banks do. */
  holdRefunds = false
  #count = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  get now(): number {
    return Math.floor(this.clock.now() / 1000)
  }

  id(prefix: string): string {
    this.#count += 1
    return `${prefix}_${this.#count.toString(36).padStart(6, '0')}${Math.random().toString(36).slice(2, 14)}`
  }

  emit(type: string, object: object): void {
    const event: StripeEvent = {
      id: this.id('evt'),
      object: 'event',
      api_version: 'fake',
      created: this.now,
      livemode: false,
      type,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      // As the object was at this moment, whatever becomes of it.
      data: { object: structuredClone(object) },
    }
    this.state.events.push(event)
    this.onEvent(event)
  }

  /** A method by id. The ready-made ids of test cards make a new method. */
  method(id: string): Method {
    const known = this.state.methods.get(id)
    if (known !== undefined) return known
    const card = TEST_CARDS[id]
    if (card === undefined) throw missing('PaymentMethod', id)
    return this.newMethod(card)
  }

  methodOfNumber(number: string): Method {
    const card = cardByNumber(number)
    if (card === undefined) throw invalid('Your card number is incorrect.', 'number', 'incorrect_number')
    return this.newMethod(card)
  }

  newMethod(card: TestCard): Method {
    const { brand, last4, number } = card
    const method: Method = {
      id: this.id('pm'),
      object: 'payment_method',
      created: this.now,
      livemode: false,
      type: 'card',
      card: { brand, last4, exp_month: 12, exp_year: 2034, fingerprint: `fp_${number.slice(-8)}` },
      customer: null,
      metadata: {},
    }
    this.state.methods.set(method.id, method)
    this.state.cards.set(method.id, card)
    return method
  }

  intent(id: string): Intent {
    const intent = this.state.intents.get(id)
    if (intent === undefined) throw missing('payment_intent', id)
    return intent
  }

  setup(id: string): SetupIntent {
    const setup = this.state.setups.get(id)
    if (setup === undefined) throw missing('setupintent', id)
    return setup
  }

  /** Confirms a payment intent: by the payer's browser, or by the merchant with a saved method. */
  confirm(intent: Intent, { method: given, offSession = false, saveFor }: Confirmation): Intent {
    const allowed = ['requires_payment_method', 'requires_confirmation', 'requires_action']
    if (!allowed.includes(intent.status)) throw unexpected(`This PaymentIntent's status is ${intent.status}.`, intent)
    const id = given ?? intent.payment_method
    if (id === null) throw invalid('You must provide a payment method.', 'payment_method')
    const method = this.method(id)
    if (offSession && (method.customer === null || method.customer !== intent.customer)) {
      throw invalid('The payment method is not attached to this customer.', 'payment_method')
    }
    intent.payment_method = method.id
    if (saveFor !== undefined) intent.setup_future_usage = saveFor
    const card = this.#card(method)
    const needsPayer = card.secure === 'always' || (card.secure === 'once' && !this.state.trusted.has(method.id))
    if (!needsPayer) return this.#charge(intent, method, offSession)
    if (offSession) {
      const fault = { code: 'authentication_required', declineCode: 'authentication_required' }
      this.#decline(intent, method, { ...fault, message: 'Your card was declined. It requires authentication.' })
    }
    intent.status = 'requires_action'
    intent.next_action = {
      type: 'redirect_to_url',
      redirect_to_url: { url: `https://hooks.stripe.com/3d_secure_2/${intent.id}` },
    }
    this.emit('payment_intent.requires_action', intent)
    return intent
  }

  /** The payer's bank has asked the payer. */
  authenticate(intent: Intent, confirmed: boolean): Intent {
    if (intent.status !== 'requires_action' || intent.payment_method === null)
      throw unexpected('Nothing to do.', intent)
    intent.next_action = null
    const method = this.method(intent.payment_method)
    if (!confirmed) {
      const code = 'payment_intent_authentication_failure'
      const message = 'We are unable to authenticate your payment method. Please choose another one and try again.'
      return this.#refused(intent, method, { type: 'invalid_request_error', code, message })
    }
    this.state.trusted.add(method.id)
    return this.#charge(intent, method, false)
  }

  cancel(intent: Intent, reason: string | null): Intent {
    if (['succeeded', 'canceled', 'processing'].includes(intent.status)) {
      throw unexpected(
        `You cannot cancel this PaymentIntent because it has a status of ${intent.status}. Only a PaymentIntent with one of the following statuses may be canceled: requires_payment_method, requires_capture, requires_reauthorization, requires_confirmation, requires_action, processing.`,
        intent,
      )
    }
    intent.status = 'canceled'
    intent.canceled_at = this.now
    intent.cancellation_reason = reason
    intent.next_action = null
    this.emit('payment_intent.canceled', intent)
    return intent
  }

  confirmSetup(setup: SetupIntent, methodId: string): SetupIntent {
    if (setup.status === 'succeeded' || setup.status === 'canceled') throw invalid('This SetupIntent has ended.')
    const method = this.method(methodId)
    setup.payment_method = method.id
    const card = this.#card(method)
    if (card.secure !== undefined) {
      setup.status = 'requires_action'
      setup.next_action = { type: 'redirect_to_url' }
      this.emit('setup_intent.requires_action', setup)
      return setup
    }
    return this.finishSetup(setup)
  }

  finishSetup(setup: SetupIntent): SetupIntent {
    setup.status = 'succeeded'
    setup.next_action = null
    const method = this.method(setup.payment_method ?? '')
    this.state.trusted.add(method.id)
    if (setup.customer !== null) this.attach(method, setup.customer)
    this.emit('setup_intent.succeeded', setup)
    return setup
  }

  attach(method: Method, customer: string): Method {
    if (!this.state.customers.has(customer)) throw missing('customer', customer)
    if (method.customer === customer) return method
    if (method.customer !== null) throw invalid('The payment method is attached to another customer.')
    method.customer = customer
    this.emit('payment_method.attached', method)
    return method
  }

  refund(intent: Intent, amount: number | undefined, metadata: Record<string, string>): Refund {
    const charge = this.state.charges.get(intent.latest_charge ?? '')
    if (charge === undefined || !charge.paid) throw invalid('This PaymentIntent has no successful charge to refund.')
    if (charge.disputed) {
      throw new StripeFault(400, {
        type: 'invalid_request_error',
        code: 'charge_disputed',
        message: `Charge ${charge.id} has been charged back.`,
      })
    }
    const left = charge.amount - charge.amount_refunded
    const size = amount ?? left
    if (left === 0)
      throw invalid(`Charge ${charge.id} has already been refunded.`, undefined, 'charge_already_refunded')
    if (size > left || size < 1) {
      throw invalid(`Refund amount (${size}) is greater than unrefunded amount on charge (${left})`, 'amount')
    }
    const refund: Refund = {
      id: this.id('re'),
      object: 'refund',
      created: this.now,
      amount: size,
      currency: charge.currency,
      charge: charge.id,
      payment_intent: intent.id,
      status: this.holdRefunds ? 'pending' : 'succeeded',
      metadata,
    }
    charge.amount_refunded += size
    charge.refunded = charge.amount_refunded === charge.amount
    this.state.refunds.set(refund.id, refund)
    this.emit('refund.created', refund)
    this.emit('charge.refunded', charge)
    return refund
  }

  /** The outcome of a refund that was held. */
  settleRefund(id: string, status: 'succeeded' | 'failed'): void {
    const refund = this.state.refunds.get(id)
    const charge = this.state.charges.get(refund?.charge ?? '')
    if (refund === undefined || charge === undefined) throw missing('refund', id)
    refund.status = status
    if (status === 'failed') {
      charge.amount_refunded -= refund.amount
      charge.refunded = false
    }
    this.emit(status === 'failed' ? 'refund.failed' : 'refund.updated', refund)
  }

  dispute(intentId: string): Dispute {
    const charge = this.state.charges.get(this.intent(intentId).latest_charge ?? '')
    if (charge === undefined) throw missing('charge', intentId)
    charge.disputed = true
    const dispute: Dispute = {
      id: this.id('dp'),
      object: 'dispute',
      created: this.now,
      livemode: false,
      amount: charge.amount - charge.amount_refunded,
      currency: charge.currency,
      charge: charge.id,
      payment_intent: intentId,
      reason: 'fraudulent',
      status: 'needs_response',
    }
    this.state.disputes.set(dispute.id, dispute)
    this.emit('charge.dispute.created', dispute)
    return dispute
  }

  closeDispute(id: string, status: 'won' | 'lost'): void {
    const dispute = this.state.disputes.get(id)
    if (dispute === undefined) throw missing('dispute', id)
    dispute.status = status
    const charge = this.state.charges.get(dispute.charge)
    if (charge !== undefined && status === 'won') charge.disputed = false
    this.emit('charge.dispute.closed', dispute)
  }

  #card(method: Method): TestCard {
    return this.state.cards.get(method.id) as TestCard
  }

  #charge(intent: Intent, method: Method, offSession: boolean): Intent {
    const card = this.#card(method)
    const isLater = method.customer !== null && card.declinesLater === true
    if (isLater) this.#decline(intent, method, TEST_CARDS['pm_card_visa_chargeDeclined']?.declines as never)
    if (card.declines !== undefined) this.#decline(intent, method, card.declines)
    const charge: Charge = {
      id: this.id('ch'),
      object: 'charge',
      created: this.now,
      livemode: false,
      amount: intent.amount,
      amount_refunded: 0,
      currency: intent.currency,
      payment_intent: intent.id,
      payment_method: method.id,
      paid: true,
      status: 'succeeded',
      refunded: false,
      disputed: false,
      metadata: intent.metadata,
    }
    this.state.charges.set(charge.id, charge)
    intent.status = 'succeeded'
    intent.amount_received = intent.amount
    intent.latest_charge = charge.id
    intent.next_action = null
    intent.last_payment_error = null
    if (intent.setup_future_usage !== null && intent.customer !== null && !offSession) {
      this.attach(method, intent.customer)
      this.state.trusted.add(method.id)
    }
    this.emit('charge.succeeded', charge)
    this.emit('payment_intent.succeeded', intent)
    if (card.disputes) this.dispute(intent.id)
    return intent
  }

  #decline(
    intent: Intent,
    method: Method,
    { code, declineCode, message }: { code: string; declineCode: string; message: string },
  ): never {
    const fault: ApiFault = { type: 'card_error', code, decline_code: declineCode, message }
    this.#refused(intent, method, fault)
    throw new StripeFault(402, {
      ...fault,
      payment_intent: structuredClone(intent),
      payment_method: structuredClone(method),
    })
  }

  #refused(intent: Intent, method: Method, fault: ApiFault): Intent {
    intent.status = 'requires_payment_method'
    intent.payment_method = null
    intent.next_action = null
    intent.last_payment_error = { ...fault, payment_method: method }
    this.emit('payment_intent.payment_failed', intent)
    return intent
  }
}

function unexpected(message: string, intent: Intent): StripeFault {
  return new StripeFault(400, {
    type: 'invalid_request_error',
    code: 'payment_intent_unexpected_state',
    message,
    payment_intent: structuredClone(intent),
  })
}
