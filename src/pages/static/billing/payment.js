import { button, choice, field, h, onSubmit, openDialog } from './dom.js'
import { cardElement } from './card.js'
import { cardName, wayName } from './checkout.js'
import { broken } from './overview.js'
import { payThrough } from './pay.js'
import { profileForm } from './profile.js'
import { call, newKey } from './session.js'
import { minorUnits, money, t } from './texts.js'

/** Saved cards, the wallet, and who invoices are for. */
export async function payment(again) {
  const [config, methods, wallet, profile] = await Promise.all([
    call('GET', '/api/payments/config'),
    call('GET', '/api/users/me/payment-methods'),
    call('GET', '/api/subscriptions/wallet'),
    call('GET', '/api/billing/profile'),
  ])
  const failed = [config, methods, wallet, profile].find(({ ok }) => !ok)
  if (failed !== undefined) return [broken(failed.message, again)]
  const { gateways } = config.data
  if (gateways.length === 0) return [h('p.notice', {}, t('payment.none')), ...profileForm(profile, again)]
  return [
    ...savedMethods(methods.data, gateways, again),
    ...walletPart(wallet.data, gateways, again),
    ...profileForm(profile, again),
  ]
}

function savedMethods(methods, gateways, again) {
  const vault = gateways.find(({ savesMethods }) => savesMethods)
  if (vault === undefined && methods.length === 0) return []
  const change = async (reply, message) => again(reply.ok ? message : reply.message, !reply.ok)
  return [
    h('h3', {}, t('cards.title')),
    methods.length === 0 ? h('p', {}, t('cards.empty')) : undefined,
    h(
      'ul.plain',
      {},
      methods.map((method) => {
        const name = t('cards.name', cardName(method))
        const path = `/api/users/me/payment-methods/${method._id}`
        const makeDefault = button(t('cards.makeDefault'), async () =>
          change(await call('PATCH', `${path}/default`), t('cards.changed')),
        )
        const remove = button(t('cards.delete'), async () => change(await call('DELETE', path), t('cards.deleted')))
        makeDefault.ariaLabel = `${t('cards.makeDefault')}: ${name}`
        remove.ariaLabel = `${t('cards.delete')}: ${name}`
        return h(
          'li.card',
          {},
          h('p', {}, name, method.isDefault ? ` – ${t('cards.default')}` : ''),
          h('div.actions', {}, method.isDefault ? undefined : makeDefault, remove),
        )
      }),
    ),
    vault === undefined
      ? undefined
      : h(
          'div.actions',
          {},
          button(t('cards.add'), () => cardDialog(vault, again), { kind: 'primary' }),
        ),
  ]
}

/** Saves a card that is entered in the gateway's element. */
function cardDialog(gateway, again) {
  return openDialog(t('cards.add'), async (body, close) => {
    const error = h('p', { role: 'alert' })
    const element = h('div.element')
    const save = button(t('cards.save'), () => confirm(), { kind: 'primary' })
    save.disabled = true
    body.append(
      h('p.quiet', {}, t('cards.about')),
      element,
      error,
      h('div.actions', {}, save, button(t('close'), close)),
    )
    const setup = await call('POST', '/api/users/me/payment-methods/setup', { body: { gateway: gateway.key } })
    if (!setup.ok) {
      error.textContent = setup.message
      return
    }
    const { clientSecret, publicKey, setupReference } = setup.data
    let card
    try {
      card = await cardElement({ clientSecret, publicKey, scriptUrl: gateway.scriptUrl }, element)
      save.disabled = false
    } catch {
      error.textContent = t('card.away')
    }
    async function confirm() {
      error.textContent = ''
      const { error: refusal } = await card.confirmSetup()
      if (refusal !== undefined) {
        error.textContent = refusal.message
        return
      }
      const saved = await call('POST', '/api/users/me/payment-methods', {
        body: { gateway: gateway.key, setupReference },
      })
      if (!saved.ok) {
        error.textContent = saved.message
        return
      }
      // Renewals are charged to the new card.
      await call('PATCH', `/api/users/me/payment-methods/${saved.data._id}/default`)
      close()
      await again(t('cards.added'))
    }
  })
}

function walletPart({ balances }, gateways, again) {
  const shown = balances.length === 0 ? t('wallet.empty') : balances.map(money).join(', ')
  return [
    h('h3', {}, t('wallet.title')),
    h('p', {}, shown),
    h('p.quiet', {}, t('wallet.about')),
    h(
      'div.actions',
      {},
      button(t('wallet.add'), () => topUpDialog(gateways, again)),
    ),
  ]
}

function topUpDialog(gateways, again) {
  return openDialog(t('wallet.add'), (body, close) => {
    const error = h('p', { role: 'alert' })
    const ways = h(
      'fieldset',
      {},
      h('legend', {}, t('way.title')),
      gateways.map((gateway, index) =>
        choice(wayName(gateway), { type: 'radio', name: 'gateway', value: gateway.key, checked: index === 0 }),
      ),
    )
    const form = h(
      'form',
      {},
      field(t('wallet.amount', { currency: 'USD' }), {
        name: 'amount',
        inputMode: 'decimal',
        required: true,
        autocomplete: 'off',
      }),
      ways,
      error,
      h('div.actions', {}, h('button.primary', {}, t('wallet.next')), button(t('close'), close)),
    )
    const key = newKey()
    onSubmit(form, async () => {
      const amount = minorUnits(form.elements.amount.value, 'USD')
      if (amount === undefined || amount < 100) {
        error.textContent = t('wallet.tooLittle', { least: money({ amount: 100, currency: 'USD' }) })
        return
      }
      const gateway = gateways.find((one) => one.key === form.elements.gateway.value)
      const done = async (message) => {
        close()
        await again(message)
      }
      await payThrough(gateway, { purpose: 'wallet', amount, currency: 'USD' }, { body, close, done, key })
    })
    body.append(form)
  })
}
