import { button, h, openDialog } from './dom.js'
import { checkout } from './checkout.js'
import { call } from './session.js'
import { bytes, count, day, money, named, t } from './texts.js'

/** The subscription, what was used, and what can be changed without paying. */
export async function overview(again) {
  const [current, usage, list, methods] = await Promise.all([
    call('GET', '/api/subscriptions/current'),
    call('GET', '/api/users/me/usage'),
    call('GET', '/api/plans'),
    call('GET', '/api/users/me/payment-methods'),
  ])
  const failed = [current, usage, list, methods].find(({ ok }) => !ok)
  if (failed !== undefined) return [broken(failed.message, again)]
  const plan = list.data.find(({ name }) => name === current.data.plan)
  const facts = { subscription: current.data, plan, plans: list.data, methods: methods.data }
  return [
    ...notices(facts, again),
    standing(facts),
    ...termForm(facts, again),
    ...usageOf(usage.data),
    ...ending(facts, again),
  ]
}

/** Shown instead of a part that could not be loaded. */
export function broken(message, again) {
  return h(
    'div.notice.bad',
    {},
    h('p', {}, message),
    button(t('tryAgain'), () => again()),
  )
}

function notices({ methods, plan, plans, subscription }, again) {
  const found = []
  const { endDate, isRecurring, nextChargeAt, nextPlan, status } = subscription
  if (status === 'past_due') {
    const next = nextChargeAt === null ? '' : t('pastDue.next', { day: day(nextChargeAt) })
    found.push(
      h(
        'div.notice.bad',
        {},
        h('p', {}, t('pastDue.text', { plan: plan.title }), ' ', next),
        h(
          'div.actions',
          {},
          button(t('pastDue.pay'), () => checkout({ title: t('pastDue.pay'), wish: { terms: 1 } }, again), {
            kind: 'primary',
          }),
          h('a', { href: '#payment' }, t('pastDue.card')),
        ),
      ),
    )
  }
  if (status === 'trialing') {
    const hasMethod = methods.some(({ isDefault }) => isDefault)
    const values = { day: day(endDate), price: money(plan.prices[subscription.term]) }
    found.push(
      h(
        'div.notice',
        {},
        h('p', {}, t('trial.text', values)),
        hasMethod ? undefined : h('p', {}, h('a', { href: '#payment' }, t('trial.card'))),
      ),
    )
  }
  if (status === 'cancelled' && !isRecurring) {
    found.push(
      h(
        'div.notice',
        {},
        h('p', {}, t('cancelled.text', { day: day(endDate), plan: plan.title })),
        button(t('cancelled.resume'), async () => {
          const reply = await call('PATCH', '/api/subscriptions/recurring', { body: { enabled: true } })
          await again(reply.ok ? t('cancelled.resumed') : reply.message, !reply.ok)
        }),
      ),
    )
  }
  if (nextPlan !== null) {
    const next = plans.find(({ name }) => name === nextPlan)
    found.push(
      h(
        'div.notice',
        {},
        h('p', {}, t('nextPlan.text', { day: day(endDate), plan: next.title })),
        button(t('nextPlan.stay'), async () => {
          const reply = await call('POST', '/api/subscriptions/downgrade/cancel')
          await again(reply.ok ? t('nextPlan.stayed') : reply.message, !reply.ok)
        }),
      ),
    )
  }
  return found
}

function standing({ plan, subscription }) {
  const { endDate, extraAccounts, isRecurring, nextChargeAt, status } = subscription
  const isFree = plan.prices.month.amount === 0
  const whatFollows = () => {
    if (isFree) return t('plan.free')
    // An administrator has given it, without cycles.
    if (!isRecurring && status !== 'cancelled') return t('plan.given')
    return nextChargeAt === null ? t('plan.until', { day: day(endDate) }) : t('plan.next', { day: day(nextChargeAt) })
  }
  return h(
    'div.card',
    {},
    h('h3', {}, t('plan.title', { plan: plan.title })),
    h('p', {}, named('status', status)),
    h('p', {}, whatFollows()),
    extraAccounts > 0 ? h('p', {}, t('plan.extraAccounts', { count: count(extraAccounts) })) : undefined,
    h('p', {}, h('a', { href: '#plans' }, isFree ? t('plan.choose') : t('plan.change'))),
  )
}

function termForm({ plan, subscription }, again) {
  if (!subscription.isRecurring) return []
  const select = h('select', {
    onchange: async () => {
      select.disabled = true
      const reply = await call('PATCH', '/api/subscriptions/term', { body: { term: select.value } })
      await again(reply.ok ? t('term.changed') : reply.message, !reply.ok)
    },
  })
  for (const term of Object.keys(plan.prices)) {
    const label = t(`term.${term}`, { price: money(plan.prices[term]) })
    select.append(h('option', { value: term, selected: term === subscription.term }, label))
  }
  return [h('h3', {}, t('term.title')), h('label', {}, t('term.label'), select), h('p.quiet', {}, t('term.about'))]
}

function usageOf({ endDate, items }) {
  const shown = (name, value) => (name === 'storageBytes' ? bytes(value) : count(value))
  return [
    h('h3', {}, t('usage.title')),
    h('p.quiet', {}, t('usage.until', { day: day(endDate) })),
    h(
      'ul.plain',
      {},
      items.map(({ limit, name, resetsAt, used }) => {
        const text = t('usage.of', { used: shown(name, used), limit: shown(name, limit) })
        const resets = resetsAt === null ? '' : t('usage.resets', { day: day(resetsAt) })
        return h(
          'li',
          {},
          h('div.row', {}, h('span', {}, named('usage', name)), h('span.amount', {}, text)),
          h('meter', {
            min: 0,
            max: Math.max(1, limit),
            high: limit * 0.9,
            value: used,
            'aria-label': `${named('usage', name)}: ${text}`,
          }),
          resets === '' ? undefined : h('p.quiet', {}, resets),
        )
      }),
    ),
  ]
}

function ending({ plan, plans, subscription }, again) {
  if (!subscription.isRecurring) return []
  return [
    h('h3', {}, t('cancel.title')),
    h(
      'div.actions',
      {},
      button(t('cancel.open'), () => cancelDialog({ plan, plans, subscription }, again)),
    ),
  ]
}

/** Says what a cancellation means before it is made. */
export function cancelDialog({ plan, plans, subscription }, again) {
  const base = plans.find(({ prices }) => prices.month.amount === 0)
  const values = { plan: plan.title, base: base?.title ?? '', day: day(subscription.endDate) }
  const isOverdue = subscription.status === 'past_due'
  return openDialog(t('cancel.title'), (body, close) => {
    const error = h('p', { role: 'alert' })
    body.append(
      h(
        'ul',
        {},
        h(
          'li',
          {},
          t(isOverdue ? 'cancel.now' : subscription.status === 'trialing' ? 'cancel.trial' : 'cancel.stays', values),
        ),
        isOverdue ? undefined : h('li', {}, t('cancel.charge')),
        h('li', {}, t('cancel.then', values)),
        h('li', {}, t('cancel.data')),
        isOverdue ? undefined : h('li', {}, t('cancel.back', values)),
      ),
      base === undefined ? '' : h('p.quiet', {}, t('cancel.limits', limitsOf(base))),
      error,
      h(
        'div.actions',
        {},
        button(t('cancel.keep', values), () => close()),
        button(t('cancel.confirm'), async () => {
          const reply = await call('POST', '/api/subscriptions/cancel')
          if (!reply.ok) {
            error.textContent = reply.message
            return
          }
          close()
          await again(isOverdue ? t('cancel.ended') : t('cancel.done', values))
        }),
      ),
    )
  })
}

/** The limits of a plan that people ask for, as values of texts. */
export function limitsOf({ limits, title }) {
  return {
    plan: title,
    workspaces: count(limits.workspaces),
    members: count(limits.members),
    accounts: count(limits.socialAccounts),
    minutes: count(limits.streamingMinutesPerMonth),
    storage: bytes(limits.storageBytes),
    credits: count(limits.aiCreditsPerMonth),
  }
}
