import { button, h, say } from './dom.js'
import { broken } from './overview.js'
import { call } from './session.js'
import { day, money, named, t } from './texts.js'

/** Invoices and credit notes as PDF, and all payments with those that failed. */
export async function receipts(again) {
  const [invoices, payments] = await Promise.all([
    call('GET', '/api/billing/invoices?limit=20'),
    call('GET', '/api/users/me/transactions?limit=20'),
  ])
  const failed = [invoices, payments].find(({ ok }) => !ok)
  if (failed !== undefined) return [broken(failed.message, again)]
  return [
    ...pages(t('receipts.title'), t('receipts.empty'), '/api/billing/invoices', invoices, invoiceRow),
    ...pages(t('payments.title'), t('payments.empty'), '/api/users/me/transactions', payments, paymentRow),
  ]
}

/** A list that grows by a page each time its button is pressed. */
function pages(title, empty, path, first, row) {
  if (first.data.length === 0) return [h('h3', {}, title), h('p', {}, empty)]
  const list = h('ul.plain', {}, first.data.map(row))
  let cursor = first.pagination?.nextCursor ?? undefined
  const more = button(t('more'), async () => {
    const reply = await call('GET', `${path}?${new URLSearchParams({ limit: '20', cursor })}`)
    if (!reply.ok) return say(reply.message, true)
    const rows = reply.data.map(row)
    list.append(...rows)
    cursor = reply.pagination?.nextCursor ?? undefined
    more.hidden = cursor === undefined
    rows[0]?.querySelector('button')?.focus()
  })
  more.hidden = cursor === undefined
  return [h('h3', {}, title), list, more]
}

function invoiceRow({ _id, createdAt, currency, endsAt, invoiceNumber, kind, startsAt, total }) {
  const download = button(t('receipts.download'), async () => {
    const reply = await call('GET', `/api/billing/invoices/${_id}/pdf`)
    if (!reply.ok) return say(reply.message, true)
    const url = URL.createObjectURL(reply.blob)
    h('a', { href: url, download: `${invoiceNumber}.pdf` }).click()
    setTimeout(() => URL.revokeObjectURL(url), 60_000)
    say(t('receipts.downloaded', { number: invoiceNumber }))
  })
  download.ariaLabel = `${t('receipts.download')}: ${invoiceNumber}`
  return h(
    'li.card',
    {},
    h(
      'div.row',
      {},
      h('span', {}, `${named('invoice', kind)} ${invoiceNumber}`),
      h('span.amount', {}, money({ amount: total, currency })),
    ),
    startsAt === null
      ? undefined
      : h('p.quiet', {}, t('receipts.period', { from: day(startsAt), to: day(lastOf(endsAt)) })),
    h('div.row', {}, h('span.quiet', {}, day(createdAt)), download),
  )
}

/** The last moment before an end, so that what ends at midnight ends a day before. */
function lastOf(end) {
  return new Date(Date.parse(end) - 1).toISOString()
}

function paymentRow({ amount, createdAt, currency, description, failureMessage, reference, refundedAmount, status }) {
  return h(
    'li.card',
    {},
    h('div.row', {}, h('span', {}, description), h('span.amount', {}, money({ amount, currency }))),
    h('p.quiet', {}, `${day(createdAt)} · ${reference} · ${named('payment', status)}`),
    refundedAmount > 0
      ? h('p', {}, t('payments.refunded', { amount: money({ amount: refundedAmount, currency }) }))
      : undefined,
    failureMessage === null || status === 'succeeded' ? undefined : h('p.bad-text', {}, failureMessage),
  )
}
