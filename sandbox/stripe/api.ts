import type { Bank } from './bank.ts'
import { entriesOf, listOf, type FormObject, type FormValue } from './form.ts'
import { invalid, missing, type Customer, type Intent, type Method, type SetupIntent } from './state.ts'

/** A request as a route of the fake sees it. */
export interface ApiCall {
  readonly bank: Bank
  readonly form: FormObject
  /** The parts of the path that the route names. */
  readonly ids: readonly string[]
  /** Whether the payer's browser calls, with the public key and the object's secret. */
  readonly isPublic: boolean
}

type Route = readonly [method: string, path: RegExp, run: (call: ApiCall) => object]

const ID = String.raw`([\w]+)`
const route = (method: string, path: string, run: Route[2]): Route => [
  method,
  new RegExp(`^/v1/${path.replaceAll(':id', ID)}$`),
  run,
]

const text = (value: FormValue | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** The part of Stripe's API that Crier and the tests use. */
export const ROUTES: readonly Route[] = [
  route('POST', 'customers', ({ bank, form }) => {
    const customer: Customer = {
      id: bank.id('cus'),
      object: 'customer',
      created: bank.now,
      livemode: false,
      email: text(form['email']),
      name: text(form['name']),
      metadata: entriesOf(form['metadata']),
    }
    bank.state.customers.set(customer.id, customer)
    return customer
  }),
  route('GET', 'customers/:id', ({ bank, ids: [id = ''] }) => found(bank.state.customers.get(id), 'customer', id)),
  route('GET', 'customers/:id/payment_methods', ({ bank, form, ids: [id] }) =>
    page(
      [...bank.state.methods.values()].filter(({ customer }) => customer === id),
      form,
    ),
  ),
  route('POST', 'payment_methods', ({ bank, form }) => {
    const card = entriesOf(form['card'])
    return bank.methodOfNumber(card['number'] ?? '')
  }),
  route('GET', 'payment_methods/:id', ({ bank, ids: [id = ''] }) => bank.method(id)),
  route('POST', 'payment_methods/:id/attach', ({ bank, form, ids: [id = ''] }) => {
    return bank.attach(bank.method(id), text(form['customer']) ?? '')
  }),
  route('POST', 'payment_methods/:id/detach', ({ bank, ids: [id = ''] }) => {
    const method = found(bank.state.methods.get(id), 'PaymentMethod', id)
    if (method.customer === null) throw invalid('The payment method you provided is not attached to a customer.')
    method.customer = null
    bank.emit('payment_method.detached', method)
    return method
  }),
  route('POST', 'payment_intents', ({ bank, form }) => shown(bank, newIntent(bank, form), form)),
  route('GET', 'payment_intents', ({ bank, form }) => {
    const { gte, lt } = entriesOf(form['created'])
    const customer = text(form['customer'])
    const intents = [...bank.state.intents.values()].filter(
      (one) =>
        one.created >= Number(gte ?? 0) &&
        one.created < Number(lt ?? Infinity) &&
        (customer === null || one.customer === customer),
    )
    const listed = page(intents.toReversed(), form)
    const inner = { expand: listOf(form['expand']).map((name) => name.replace(/^data\./, '')) }
    return { ...listed, data: listed.data.map((intent) => shown(bank, intent, inner)) }
  }),
  route('GET', 'payment_intents/:id', ({ bank, form, ids: [id = ''] }) => shown(bank, bank.intent(id), form)),
  route('POST', 'payment_intents/:id/confirm', ({ bank, form, ids: [id = ''], isPublic }) => {
    const intent = bank.intent(id)
    if (isPublic && form['client_secret'] !== intent.client_secret) throw missing('payment_intent', id)
    const method = methodIn(bank, form)
    const saveFor = text(form['setup_future_usage'])
    const confirmed = bank.confirm(intent, {
      ...(method !== null && { method }),
      ...(saveFor !== null && { saveFor }),
      offSession: form['off_session'] === 'true',
    })
    return shown(bank, confirmed, form)
  }),
  route('POST', 'payment_intents/:id/cancel', ({ bank, form, ids: [id = ''] }) => {
    return shown(bank, bank.cancel(bank.intent(id), text(form['cancellation_reason'])), form)
  }),
  route('POST', 'setup_intents', ({ bank, form }) => {
    const id = bank.id('seti')
    const setup: SetupIntent = {
      id,
      object: 'setup_intent',
      created: bank.now,
      livemode: false,
      customer: text(form['customer']),
      status: 'requires_payment_method',
      client_secret: `${id}_secret_${bank.id('s')}`,
      payment_method: null,
      usage: text(form['usage']) ?? 'off_session',
      metadata: entriesOf(form['metadata']),
      last_setup_error: null,
      next_action: null,
    }
    bank.state.setups.set(id, setup)
    return setup
  }),
  route('GET', 'setup_intents/:id', ({ bank, form, ids: [id = ''] }) => withMethod(bank, bank.setup(id), form)),
  route('POST', 'setup_intents/:id/confirm', ({ bank, form, ids: [id = ''], isPublic }) => {
    const setup = bank.setup(id)
    if (isPublic && form['client_secret'] !== setup.client_secret) throw missing('setupintent', id)
    return bank.confirmSetup(setup, methodIn(bank, form) ?? '')
  }),
  // Only the fake has these: the payer's answer in the frame of the bank.
  route('POST', 'payment_intents/:id/bank_reply/confirm', ({ bank, form, ids: [id = ''] }) => {
    const intent = bank.intent(id)
    if (form['client_secret'] !== intent.client_secret) throw missing('payment_intent', id)
    return bank.authenticate(intent, form['confirmed'] === 'true')
  }),
  route('POST', 'setup_intents/:id/bank_reply/confirm', ({ bank, form, ids: [id = ''] }) => {
    const setup = bank.setup(id)
    if (form['client_secret'] !== setup.client_secret) throw missing('setupintent', id)
    if (form['confirmed'] !== 'true') throw invalid('We are unable to authenticate your payment method.')
    return bank.finishSetup(setup)
  }),
  route('POST', 'refunds', ({ bank, form }) => {
    const amount = text(form['amount'])
    const intent = bank.intent(text(form['payment_intent']) ?? '')
    return bank.refund(intent, amount === null ? undefined : Number(amount), entriesOf(form['metadata']))
  }),
  route('GET', 'refunds', ({ bank, form }) =>
    page(
      [...bank.state.refunds.values()].filter(({ payment_intent }) => payment_intent === form['payment_intent']),
      form,
    ),
  ),
  route('GET', 'disputes', ({ bank, form }) =>
    page(
      [...bank.state.disputes.values()].filter(({ payment_intent }) => payment_intent === form['payment_intent']),
      form,
    ),
  ),
]

/** The method of a confirmation: one that exists, or the card that the payer has typed in the element. */
function methodIn(bank: Bank, form: FormObject): string | null {
  const typed = (form['payment_method_data'] ?? {}) as { readonly card?: { readonly number?: string } }
  if (typed.card?.number !== undefined) return bank.methodOfNumber(typed.card.number).id
  return text(form['payment_method'])
}

function newIntent(bank: Bank, form: FormObject): Intent {
  const amount = Number(form['amount'])
  if (form['amount'] === undefined) throw invalid('Missing required param: amount.', 'amount', 'parameter_missing')
  if (!Number.isInteger(amount) || amount < 1) throw invalid('Invalid integer: amount', 'amount')
  const currency = text(form['currency'])
  if (currency === null) throw invalid('Missing required param: currency.', 'currency', 'parameter_missing')
  if (!/^[a-z]{3}$/i.test(currency)) throw invalid(`Invalid currency: ${currency}`, 'currency')
  if (amount < 50) {
    throw invalid('Amount must be at least $0.50 usd', 'amount', 'amount_too_small')
  }
  const customer = text(form['customer'])
  if (customer !== null) found(bank.state.customers.get(customer), 'customer', customer)
  const id = bank.id('pi')
  const method = text(form['payment_method'])
  const intent: Intent = {
    id,
    object: 'payment_intent',
    created: bank.now,
    livemode: false,
    amount,
    amount_received: 0,
    amount_capturable: 0,
    currency: currency.toLowerCase(),
    customer,
    description: text(form['description']),
    metadata: { ...entriesOf(form['metadata']) },
    status: method === null ? 'requires_payment_method' : 'requires_confirmation',
    client_secret: `${id}_secret_${bank.id('s')}`,
    payment_method: method === null ? null : bank.method(method).id,
    setup_future_usage: text(form['setup_future_usage']),
    next_action: null,
    last_payment_error: null,
    latest_charge: null,
    canceled_at: null,
    cancellation_reason: null,
    payment_method_types: ['card'],
  }
  bank.state.intents.set(id, intent)
  bank.emit('payment_intent.created', intent)
  return intent
}

/** An object with the fields that the request wants whole (`expand`). */
function shown(bank: Bank, intent: Intent, form: { readonly expand?: unknown }): object {
  const wanted = Object.values((form.expand ?? {}) as Record<string, string>)
  return {
    ...intent,
    ...(wanted.includes('latest_charge') && {
      latest_charge: bank.state.charges.get(intent.latest_charge ?? '') ?? null,
    }),
    ...(wanted.includes('payment_method') && {
      payment_method: bank.state.methods.get(intent.payment_method ?? '') ?? null,
    }),
  }
}

function withMethod(bank: Bank, setup: SetupIntent, form: FormObject): object {
  if (!listOf(form['expand']).includes('payment_method')) return setup
  return { ...setup, payment_method: bank.state.methods.get(setup.payment_method ?? '') ?? null }
}

function page<T extends { readonly id: string }>(all: readonly T[], form: FormObject) {
  const limit = Number(form['limit'] ?? 10)
  if (!(limit >= 1 && limit <= 100)) throw invalid('This value must be between 1 and 100.', 'limit')
  const after = text(form['starting_after'])
  const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
  const data = all.slice(start, start + limit)
  return { object: 'list' as const, url: '/v1', has_more: all.length > start + limit, data }
}

function found<T extends Customer | Method>(value: T | undefined, what: string, id: string): T {
  if (value === undefined) throw missing(what, id)
  return value
}
