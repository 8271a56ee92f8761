import { button, choice, field, h, onSubmit, openDialog } from './dom.js'
import { checkout } from './checkout.js'
import { broken, cancelDialog, limitsOf } from './overview.js'
import { call } from './session.js'
import { count, day, money, t } from './texts.js'

const MONTHS = { month: 1, quarter: 3, year: 12 }
let chosenTerm

/** The plans, with what the payer can do about each. */
export async function plans(again) {
  const [list, current, cycles, extras] = await Promise.all([
    call('GET', '/api/plans'),
    call('GET', '/api/subscriptions/current'),
    call('GET', '/api/billing/cycles?limit=20'),
    call('GET', '/api/subscriptions/extra-accounts'),
  ])
  const failed = [list, current, cycles, extras].find(({ ok }) => !ok)
  if (failed !== undefined) return [broken(failed.message, again)]
  const subscription = current.data
  const cycle = cycles.data.find(({ kind, status }) => kind === 'paid' && status === 'current')
  chosenTerm ??= subscription.term
  const facts = { subscription, cycle, extras: extras.data, plans: list.data, order: list.data.map(({ name }) => name) }
  const cards = h('div')
  const draw = () => cards.replaceChildren(...list.data.map((plan) => planCard(plan, facts, again)))
  const terms = h(
    'fieldset',
    {},
    h('legend', {}, t('term.label2')),
    Object.keys(MONTHS).map((term) => {
      const onchange = () => {
        chosenTerm = term
        draw()
      }
      return choice(t(`termName.${term}`), { type: 'radio', name: 'term', checked: term === chosenTerm, onchange })
    }),
  )
  draw()
  return [terms, cards, ...extraAccounts(extras.data, facts, again)]
}

function planCard(plan, facts, again) {
  const price = plan.prices[chosenTerm]
  const text = price.amount === 0 ? t('plans.free') : t(`term.${chosenTerm}`, { price: money(price) })
  return h(
    'section.card',
    { 'aria-label': plan.title },
    h('h3', {}, plan.title),
    h('p', {}, text),
    h('p.quiet', {}, t('plans.limits', limitsOf(plan))),
    actionOf(plan, facts, again),
  )
}

/** The one thing to do about a plan: none for the plan that is paid, a trial, an upgrade, a downgrade or a cancellation. */
function actionOf(plan, facts, again) {
  const { cycle, extras, order, plans: list, subscription } = facts
  const isFree = plan.prices.month.amount === 0
  const own = list.find(({ name }) => name === subscription.plan)
  const { status } = subscription
  const isPaying = own.prices.month.amount > 0
  if (isFree) {
    if (!isPaying) return h('p', {}, t('plans.own'))
    if (status === 'cancelled') return h('p', {}, t('plans.follows', { day: day(subscription.endDate) }))
    if (!subscription.isRecurring) return undefined
    return button(t('cancel.open'), () => cancelDialog({ plan: own, plans: list, subscription }, again))
  }
  if (status === 'past_due') return h('p.quiet', {}, t('plans.payFirst'))
  const wish = { planName: plan.name, term: chosenTerm }
  if (status === 'trialing') {
    const isSame = plan.name === own.name && chosenTerm === subscription.term
    return isSame ? h('p', {}, t('plans.own')) : trialButton(plan, t('plans.switchTrial', { plan: plan.title }), again)
  }
  if (!isPaying && subscription.trialEndsAt === null) {
    return trialButton(plan, t('plans.trial', { plan: plan.title }), again, wish)
  }
  if (plan.name === own.name) {
    if (cycle === undefined || chosenTerm === cycle.term) return h('p', {}, t('plans.own'))
    if (MONTHS[chosenTerm] < MONTHS[cycle.term]) return h('p.quiet', {}, t('plans.shorter'))
    return buyButton(t('plans.longer'), plan, wish, again)
  }
  if (isPaying && order.indexOf(plan.name) < order.indexOf(own.name)) {
    if (status === 'cancelled') return h('p.quiet', {}, t('plans.afterCancel'))
    if (subscription.nextPlan === plan.name) return h('p', {}, t('plans.follows', { day: day(subscription.endDate) }))
    if (!subscription.isRecurring) return undefined
    return button(t('plans.smaller', { plan: plan.title }), () => downgradeDialog(plan, extras, again))
  }
  // A shorter term cannot begin before the end of what is paid.
  if (cycle !== undefined && MONTHS[chosenTerm] < MONTHS[cycle.term]) wish.term = cycle.term
  return buyButton(t('plans.take', { plan: plan.title }), plan, wish, again)
}

function buyButton(label, plan, wish, again) {
  const open = () => checkout({ title: t('checkout.title', { plan: plan.title }), wish }, again)
  return h('div.actions', {}, button(label, open, { kind: 'primary' }))
}

/** @param wish to buy the plan without a trial */
function trialButton(plan, label, again, wish) {
  const term = chosenTerm
  const open = () =>
    openDialog(label, (body, close) => {
      const error = h('p', { role: 'alert' })
      const start = async () => {
        const reply = await call('POST', '/api/billing/select-plan', { body: { planName: plan.name, term } })
        if (!reply.ok) {
          error.textContent = reply.message
          return
        }
        close()
        await again(t('trial.started', { day: day(reply.data.endDate) }))
      }
      body.append(
        h('p', {}, t('trial.limits', limitsOf({ ...plan, limits: plan.trialLimits }))),
        h('p', {}, t('trial.about', { price: t(`term.${term}`, { price: money(plan.prices[term]) }) })),
        error,
        h('div.actions', {}, button(label, start, { kind: 'primary' }), button(t('close'), close)),
      )
    })
  const trial = button(label, open, { kind: 'primary' })
  if (wish === undefined) return h('div.actions', {}, trial)
  const title = t('checkout.title', { plan: plan.title })
  return h(
    'div.actions',
    {},
    trial,
    button(t('plans.buyNow'), () => checkout({ title, wish }, again)),
  )
}

/** Asks which accounts stay active, if the smaller plan has room for fewer. */
function downgradeDialog(plan, { endDate, ending, extraAccounts: owned }, again) {
  return openDialog(t('plans.smaller', { plan: plan.title }), async (body, close) => {
    const error = h('p', { role: 'alert' })
    const most = plan.limits.socialAccounts + owned - ending
    const accounts = await activeAccounts()
    if (!accounts.ok) {
      body.append(h('p', { role: 'alert' }, accounts.message), button(t('close'), close))
      return
    }
    const boxes = accounts.data.map(({ _id, handle, name, platform }, index) =>
      choice(`${name}${handle === null ? '' : ` (${handle})`}, ${platform}`, {
        type: 'checkbox',
        value: _id,
        checked: index < most,
      }),
    )
    const hasToChoose = accounts.data.length > most
    const chosen = () => boxes.map((label) => label.querySelector('input')).filter(({ checked }) => checked)
    body.append(
      h('p', {}, t('downgrade.about', { day: day(endDate), plan: plan.title })),
      h('p.quiet', {}, t('plans.limits', limitsOf(plan))),
      h('p', {}, t('cancel.data')),
      hasToChoose ? h('fieldset', {}, h('legend', {}, t('downgrade.keep', { most: count(most) })), boxes) : '',
      error,
      h(
        'div.actions',
        {},
        button(
          t('downgrade.confirm', { plan: plan.title }),
          async () => {
            const keep = chosen().map(({ value }) => value)
            if (hasToChoose && keep.length > most) {
              error.textContent = t('downgrade.tooMany', {
                most: count(most),
                chosen: count(keep.length),
              })
              return
            }
            const sent = { planName: plan.name, ...(hasToChoose && { keepAccountIds: keep }) }
            const reply = await call('POST', '/api/subscriptions/downgrade', { body: sent })
            if (!reply.ok) {
              error.textContent = reply.message
              return
            }
            close()
            await again(t('downgrade.done', { day: day(reply.data.endDate), plan: plan.title }))
          },
          { kind: 'primary' },
        ),
        button(t('close'), close),
      ),
    )
  })
}

/** The active accounts of all workspaces that the user owns. */
async function activeAccounts() {
  const workspaces = await everything('/api/workspaces')
  if (!workspaces.ok) return workspaces
  const found = []
  for (const { _id, role } of workspaces.data) {
    if (role !== undefined && role !== 'owner') continue
    const accounts = await everything('/api/social-accounts', { workspaceId: _id })
    if (!accounts.ok) return accounts
    found.push(...accounts.data.filter(({ status }) => status !== 'archived'))
  }
  return { ok: true, data: found }
}

/** All pages of a list. */
async function everything(path, filter = {}) {
  const data = []
  let cursor
  do {
    const query = new URLSearchParams({ ...filter, limit: '100', ...(cursor !== undefined && { cursor }) })
    const reply = await call('GET', `${path}?${query}`)
    if (!reply.ok) return reply
    data.push(...reply.data)
    cursor = reply.pagination?.nextCursor ?? undefined
  } while (cursor !== undefined)
  return { ok: true, data }
}

function extraAccounts({ endDate, ending, extraAccounts: owned, price, usedAccounts }, { cycle, subscription }, again) {
  if (price === null || cycle === undefined || subscription.status === 'past_due') return []
  const form = h(
    'form',
    {},
    field(t('extras.label'), {
      name: 'count',
      type: 'number',
      min: 1,
      max: 1000,
      value: 1,
      required: true,
      inputMode: 'numeric',
    }),
    h('div.actions', {}, h('button', {}, t('extras.add'))),
  )
  onSubmit(form, () => {
    const wanted = Number(form.elements.count.value)
    return checkout({ title: t('extras.title'), wish: { extraAccounts: owned + wanted } }, again)
  })
  const left = owned - ending
  const change = async (path, body, message) => {
    const reply = await call('POST', `/api/subscriptions/extra-accounts/${path}`, { body })
    await again(reply.ok ? message : reply.message, !reply.ok)
  }
  return [
    h('h3', {}, t('extras.title')),
    h(
      'p',
      {},
      t('extras.about', {
        owned: count(owned),
        used: count(usedAccounts),
        price: t(`term.${subscription.term}`, { price: money(price) }),
      }),
    ),
    form,
    h(
      'div.actions',
      {},
      left > 0 ? button(t('extras.remove'), () => change('remove', { count: 1 }, t('extras.removed'))) : undefined,
      ending > 0
        ? button(t('extras.keep', { count: count(ending), day: endDate === null ? '' : day(endDate) }), () =>
            change('cancel-removal', undefined, t('extras.kept')),
          )
        : undefined,
    ),
  ]
}
