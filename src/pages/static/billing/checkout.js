import { button, choice, field, h, onSubmit, openDialog, showIn } from './dom.js'
import { handleAction, payThrough } from './pay.js'
import { profileForm } from './profile.js'
import { call, newKey } from './session.js'
import { day, money, named, t } from './texts.js'

/**
 * Shows what a change costs, as the server calculates it, and charges it only after that. `wish` is a plan, a term or
 * extra accounts, or `terms` to pay what is due.
 */
export function checkout({ title, wish }, again) {
  return openDialog(title, async (body, close) => {
    body.append(h('p', {}, t('loading')))
    const [config, methods, wallet] = await Promise.all([
      call('GET', '/api/payments/config'),
      call('GET', '/api/users/me/payment-methods'),
      call('GET', '/api/subscriptions/wallet'),
    ])
    const failed = [config, methods, wallet].find(({ ok }) => !ok)
    const purchase = new Purchase(wish, body, close, again)
    if (failed !== undefined) return purchase.fail(failed.message)
    purchase.ways = { gateways: config.data.gateways, methods: methods.data, balances: wallet.data.balances }
    await purchase.draw()
  })
}

class Purchase {
  #wish
  #body
  #close
  #again
  #couponCode
  #way
  /** A request that is repeated after a lost reply has the same key, so it is charged once. */
  #key = newKey()

  constructor(wish, body, close, again) {
    this.#wish = wish
    this.#body = body
    this.#close = close
    this.#again = again
  }

  fail(message) {
    showIn(
      this.#body,
      h('p', { role: 'alert' }, message),
      h(
        'div.actions',
        {},
        button(t('close'), () => this.#close()),
      ),
    )
  }

  get #isRenewal() {
    return this.#wish.terms !== undefined
  }

  get #input() {
    return { ...this.#wish, ...(this.#couponCode !== undefined && { couponCode: this.#couponCode }) }
  }

  /** The same as the input of a payment, which pays an overdue cycle first. */
  get #purpose() {
    const { terms: _terms, ...wish } = this.#input
    return { purpose: 'subscription', ...wish }
  }

  /** Asks for the price, and shows it with the ways to pay. */
  async draw(message) {
    const preview = await call('POST', '/api/billing/proration-preview', { body: this.#input })
    if (!preview.ok && this.#couponCode !== undefined && preview.code === 'coupon_not_valid') {
      this.#couponCode = undefined
      await this.draw(preview.message)
      return
    }
    if (!preview.ok) {
      this.fail(preview.message)
      return
    }
    const { endsAt, missingProfileFields, quote } = preview.data
    if (missingProfileFields.length > 0) {
      await this.#askProfile(quote)
      return
    }
    const error = h('p', { role: 'alert' }, message ?? '')
    const price = { amount: quote.total, currency: quote.currency }
    const pay = button(
      quote.total === 0 ? t('checkout.confirm') : t('checkout.pay', { price: money(price) }),
      () => this.#pay(price, error),
      {
        kind: 'primary',
      },
    )
    const ways = quote.total === 0 ? undefined : this.#waysToPay(price)
    if (ways === null) pay.disabled = true
    showIn(
      this.#body,
      quoteTable(quote),
      h(
        'p.quiet',
        {},
        t('checkout.until', { day: day(endsAt) }),
        ' ',
        quote.lines.some(({ kind }) => kind === 'unused') ? t('checkout.seconds') : '',
      ),
      this.#couponForm(),
      ways ?? '',
      ways === null ? h('p.notice', {}, t('checkout.noWay')) : '',
      error,
      h(
        'div.actions',
        {},
        pay,
        button(t('close'), () => this.#close()),
      ),
    )
  }

  /** Without the buyer's country there is no tax and no invoice, so it comes first. */
  async #askProfile(quote) {
    const profile = await call('GET', '/api/billing/profile')
    if (!profile.ok) {
      this.fail(profile.message)
      return
    }
    showIn(
      this.#body,
      quoteTable(quote),
      h('p.notice', {}, t('checkout.needsProfile')),
      ...profileForm(profile, () => this.draw()),
      h(
        'div.actions',
        {},
        button(t('close'), () => this.#close()),
      ),
    )
  }

  #couponForm() {
    const code = this.#couponCode
    if (code !== undefined) {
      return h(
        'div.row',
        {},
        h('span', {}, t('coupon.applied', { code })),
        button(t('coupon.remove'), () => this.#withCoupon(undefined)),
      )
    }
    const form = h(
      'form',
      {},
      field(t('coupon.label'), { name: 'code', maxLength: 40, autocomplete: 'off', autocapitalize: 'characters' }),
      h('div.actions', {}, h('button', {}, t('coupon.apply'))),
    )
    return onSubmit(form, async () => {
      const typed = form.elements.code.value.trim()
      if (typed !== '') await this.#withCoupon(typed)
    })
  }

  async #withCoupon(code) {
    this.#couponCode = code
    this.#key = newKey()
    await this.draw()
  }

  /** A choice of the ways to pay. Null if there is none. */
  #waysToPay({ amount, currency }) {
    const { balances, gateways, methods } = this.ways
    const inWallet = balances.find((balance) => balance.currency === currency)?.amount ?? 0
    const saved = methods.find(({ isDefault }) => isDefault)
    const ways = []
    if (saved !== undefined) ways.push({ kind: 'saved', label: t('way.saved', cardName(saved)) })
    if (inWallet >= amount) {
      ways.push({ kind: 'wallet', label: t('way.wallet', { balance: money({ amount: inWallet, currency }) }) })
    }
    for (const gateway of gateways) {
      if (gateway.currencies.includes(currency)) ways.push({ kind: 'gateway', gateway, label: wayName(gateway) })
    }
    if (ways.length === 0) return null
    if (!ways.some(({ label }) => label === this.#way?.label)) this.#way = ways[0]
    return h(
      'fieldset',
      {},
      h('legend', {}, t('way.title')),
      ways.map((way) =>
        choice(way.label, {
          type: 'radio',
          name: 'way',
          checked: way.label === this.#way.label,
          onchange: () => {
            this.#way = way
            this.#key = newKey()
          },
        }),
      ),
    )
  }

  async #pay(price, error) {
    error.textContent = ''
    const way = price.amount === 0 ? { kind: 'saved' } : this.#way
    if (way.kind === 'gateway') {
      const done = (message) => this.#finish(message)
      await payThrough(way.gateway, this.#purpose, { body: this.#body, close: this.#close, done, key: this.#key })
      return
    }
    const reply = await this.#charge(way.kind)
    if (reply.ok) await this.#finish(t('checkout.done'))
    else if (reply.code === 'payment_unfinished') await this.#confirm(reply.details.reference, error)
    else await this.#refused(reply)
  }

  async #refused(reply) {
    // After a refusal, the next try is a new purchase, and its price may differ.
    if (reply.status >= 400 && reply.status < 500) this.#key = newKey()
    await this.draw(reply.status === 402 ? `${reply.message} ${t('checkout.otherWay')}` : reply.message)
  }

  #charge(kind) {
    const key = this.#key
    if (kind === 'wallet') return call('POST', '/api/payments/wallet', { body: this.#purpose, key })
    const path = this.#isRenewal ? '/api/subscriptions/renew' : '/api/billing/upgrade'
    return call('POST', path, { body: this.#input, key })
  }

  /** Lets the payer confirm the charge at the bank. */
  async #confirm(reference, error) {
    const result = await handleAction(this.ways.gateways, reference)
    if (result.ok) await this.#finish(result.message)
    else error.textContent = result.message
  }

  async #finish(message) {
    this.#close()
    await this.#again(message)
  }
}

export function quoteTable({ currency, lines, net, tax, taxes, total }) {
  const row = (kind, label, amount, detail) =>
    h(
      kind,
      {},
      h('span', {}, label, detail === undefined ? '' : h('div.quiet', { lang: 'en' }, detail)),
      h('span.amount', {}, money({ amount, currency })),
    )
  return h(
    'div',
    { role: 'group', 'aria-label': t('quote.title') },
    lines.map(({ amount, description, kind }) => row('div.row', named('quote', kind), amount, description)),
    tax === 0 && taxes.length === 0 ? undefined : row('div.row', t('quote.net'), net),
    taxes.map(({ amount, description }) => row('div.row', description, amount)),
    row('div.row.total', t('quote.total'), total),
  )
}

export function cardName({ brand, expiryMonth, expiryYear, kind, last4 }) {
  const expiry = expiryMonth === null ? '' : `${String(expiryMonth).padStart(2, '0')}/${expiryYear}`
  return { brand: brand ?? kind, last4: last4 ?? '', expiry }
}

export function wayName({ kind, title }) {
  return kind === 'crypto' ? t('way.crypto', { title }) : t(`way.${kind}`)
}
