import { renderSVG } from './qr.js'
import { button, h, showIn } from './dom.js'
import { cardElement, nextAction } from './card.js'
import { call } from './session.js'
import { money, named, t, time } from './texts.js'

const LOOK_AGAIN_MS = 5_000
const OPEN = new Set(['created', 'pending', 'requires_action'])

/**
 * Begins a payment and shows what the payer has to do: enter a card, transfer money, or send coins.
 * @param place `done` is called with a message when the payment has succeeded
 */
export async function payThrough(gateway, input, { body, close, done, key }) {
  const started = await call('POST', '/api/payments/initialize', {
    body: { ...input, gateway: gateway.key, ...(gateway.savesMethods && { saveMethod: true }) },
    key,
  })
  const leave = h(
    'div.actions',
    {},
    button(t('close'), () => close()),
  )
  if (!started.ok) {
    showIn(body, h('p', { role: 'alert' }, started.message), leave)
    return
  }
  const { data } = started
  if (data.payment.status === 'succeeded') await done(outcome(data.payment).message)
  else if (gateway.kind === 'card') await enterCard(gateway, data, { body, close, done })
  else if (gateway.kind === 'crypto') await showCoins(data, { body, done, leave })
  else showIn(body, ...transferSteps(data), leave)
}

async function enterCard({ publicKey, scriptUrl }, { clientSecret, payment }, { body, close, done }) {
  const element = h('div.element')
  const error = h('p', { role: 'alert' })
  const pay = button(t('checkout.pay', { price: money(payment) }), () => confirm(), { kind: 'primary' })
  pay.disabled = true
  showIn(
    body,
    h('p', {}, payment.description),
    element,
    h('p.quiet', {}, t('card.saved')),
    error,
    h(
      'div.actions',
      {},
      pay,
      button(t('close'), () => close()),
    ),
  )
  let card
  try {
    card = await cardElement({ clientSecret, publicKey, scriptUrl }, element)
    pay.disabled = false
  } catch {
    error.textContent = t('card.away')
  }
  async function confirm() {
    error.textContent = ''
    const { error: refusal } = await card.confirmPayment()
    if (refusal !== undefined) {
      error.textContent = refusal.message
      return
    }
    const result = await verified(payment.reference)
    if (result.ok) await done(result.message)
    else error.textContent = result.message
  }
}

/** Asks the server for the outcome of a payment. */
async function verified(reference) {
  const reply = await call('POST', '/api/payments/verify', { body: { reference } })
  return reply.ok ? outcome(reply.data.payment) : reply
}

function outcome({ failureMessage, settledTo, status }) {
  if (status === 'succeeded') return { ok: true, message: t(settledTo === 'wallet' ? 'pay.toWallet' : 'pay.done') }
  if (OPEN.has(status)) return { ok: true, message: t('pay.open') }
  return { ok: false, message: failureMessage ?? named('payment', status) }
}

/** Lets the payer confirm a charge of a saved card at the bank. */
export async function handleAction(gateways, reference) {
  const reply = await call('POST', '/api/payments/verify', { body: { reference } })
  if (!reply.ok) return reply
  const { clientSecret, payment, publicKey } = reply.data
  const gateway = gateways.find(({ key }) => key === payment.gateway)
  if (clientSecret === null || gateway?.scriptUrl == null || payment.status !== 'requires_action')
    return outcome(payment)
  try {
    const { error } = await nextAction({ clientSecret, publicKey, scriptUrl: gateway.scriptUrl })
    if (error !== undefined) return { ok: false, message: error.message }
  } catch {
    return { ok: false, message: t('card.away') }
  }
  return verified(reference)
}

function fact(label, ...value) {
  return h('div', {}, h('h3', {}, label), ...value)
}

function copyable(text) {
  const copy = button(t('copy'), async () => {
    await navigator.clipboard?.writeText(text)
    copy.textContent = t('copied')
  })
  return h('div.row', {}, h('code', {}, text), copy)
}

function transferSteps({ instructions, payment }) {
  return [
    h('p', {}, t('transfer.about')),
    fact(t('transfer.amount'), copyable(money(payment))),
    fact(t('transfer.reference'), copyable(payment.reference), h('p.quiet', {}, t('transfer.referenceWhy'))),
    fact(t('transfer.to'), h('p.instructions', {}, instructions ?? '')),
    payment.expiresAt === null ? '' : h('p.quiet', {}, t('transfer.until', { time: time(payment.expiresAt) })),
  ]
}

/** Shows the address and amount, and looks every few seconds whether the coins have arrived. */
async function showCoins(start, { body, done, leave }) {
  const { crypto, payment } = start
  const progress = h('p', { role: 'status' })
  const svg = new DOMParser().parseFromString(renderSVG(crypto.uri), 'image/svg+xml').documentElement
  svg.setAttribute('class', 'qr')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', t('coins.qr'))
  showIn(
    body,
    h('p', {}, t('coins.about', { price: money(payment) })),
    fact(t('coins.amount', { coin: crypto.coin.toUpperCase() }), copyable(crypto.coinAmount)),
    fact(t('coins.address'), copyable(crypto.address)),
    svg,
    h('p', {}, h('a', { href: crypto.uri }, t('coins.open'))),
    payment.expiresAt === null ? '' : h('p.quiet', {}, t('coins.until', { time: time(payment.expiresAt) })),
    progress,
    leave,
  )
  while (body.isConnected) {
    const reply = await call('POST', '/api/payments/verify', { body: { reference: payment.reference } })
    if (reply.ok && !OPEN.has(reply.data.payment.status)) {
      const result = outcome(reply.data.payment)
      if (result.ok) await done(result.message)
      else progress.textContent = result.message
      return
    }
    const now = reply.ok ? reply.data.crypto : null
    const values = {
      received: now?.receivedCoinAmount ?? '0',
      coin: crypto.coin.toUpperCase(),
      needed: crypto.confirmationsNeeded,
    }
    progress.textContent = reply.ok ? t('coins.received', values) : reply.message
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}
