import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCoupon } from '../../src/domains/money/billing/coupon-operations.ts'
import * as billing from '../../src/domains/money/billing/operations.ts'
import { renewSubscription, upgradeCycles } from '../../src/domains/money/billing/purchase-operations.ts'
import { DAY } from '../../src/core/clock.ts'
import { closePages, openPage, sharedBrowser } from '../support/browser.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { PASSWORD } from '../support/people.ts'

/** What a buyer reads about prices and payments is in the language of the request, or else in the buyer's. */

let desk: BillingDesk
let browser: Browser
beforeAll(async () => {
  desk = await startBillingDesk('2026-03-01T10:00:00Z', {
    env: { SELLER_COUNTRY: 'DE', SELLER_VAT_NUMBER: 'DE136695976', BANK_TRANSFER_INSTRUCTIONS: 'Example Ltd' },
  })
  for (const body of [
    { code: 'TEN', percent: 12.5 },
    { code: 'SCARCE', percent: 10, maxUses: 3 },
  ]) {
    expect((await desk.world.as('root').call(createCoupon, { body })).status).toBe(201)
  }
  browser = await sharedBrowser()
})
afterAll(async () => {
  await closePages(browser)
  await desk?.stop()
})

const as = (name: string) => desk.world.as(name)

/** A user whose language is German. */
async function german(name: string) {
  const user = await desk.world.user(name)
  const saved = await as(name).call('PATCH /api/users/me', { body: { locale: 'de-DE' } })
  expect(saved.status, saved.text).toBe(200)
  return user
}

interface Shown {
  readonly lines: readonly { readonly description: string }[]
  readonly taxes: readonly { readonly description: string }[]
}
const textsOf = ({ lines, taxes }: Shown) => [...lines, ...taxes].map(({ description }) => description)

interface Answer {
  readonly quote: Shown
  readonly payment: { readonly description: string }
  readonly description: string
  readonly instructions: string
}

async function post(name: string, path: string, body: object, language?: string) {
  const headers = {
    'X-API-Key': desk.world.key(name),
    'Content-Type': 'application/json',
    ...(language !== undefined && { 'Accept-Language': language }),
  }
  const reply = await fetch(`${desk.app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(reply.ok, `${path} ${reply.status}`).toBe(true)
  return ((await reply.json()) as { data: Answer }).data
}
const preview = async (name: string, body: object, language?: string) =>
  textsOf((await post(name, '/api/billing/proration-preview', body, language)).quote)

test('a quote is in the language of the request, or else in the buyer’s', async () => {
  await german('ada')
  const wish = { planName: 'pro', term: 'quarter', extraAccounts: 2, couponCode: 'ten' }
  const inGerman = [
    'Pro, drei Monate',
    '2 zusätzliche Social-Media-Konten, drei Monate',
    'Gutschein TEN (12,5 %)',
    'USt. 19 % (Deutschland)',
  ]
  const inEnglish = [
    'Pro, three months',
    '2 extra social accounts, three months',
    'Coupon TEN (12.5 %)',
    'VAT 19 % (Germany)',
  ]
  expect(await preview('ada', wish)).toEqual(inGerman)
  expect(await preview('ada', wish, 'fr, *;q=0.1')).toEqual(inGerman)
  expect(await preview('ada', wish, 'en-US,en;q=0.9,de;q=0.1')).toEqual(inEnglish)
  await desk.world.user('bob')
  expect(await preview('bob', wish)).toEqual(inEnglish)
  expect(await preview('bob', wish, 'de')).toEqual(inGerman)
  const coupon = await post('bob', '/api/billing/coupon-preview', { code: 'TEN', planName: 'pro' }, 'de-AT')
  expect(textsOf(coupon.quote)).toEqual(['Pro, ein Monat', 'Gutschein TEN (12,5 %)', 'USt. 19 % (Deutschland)'])
})

test('quotes name times as the reader writes them: of cycles, of the rest of one, and of what is unused', async () => {
  await german('cid')
  await desk.topUp('cid', 100_000)
  expect((await as('cid').call(upgradeCycles, { body: { planName: 'starter' } })).status).toBe(200)
  const renewal = { terms: 1 }
  const from = new Date(desk.clock.now())
  expect(from.toISOString()).toBe('2026-03-01T10:00:00.000Z')
  expect((await preview('cid', renewal))[0]).toBe('Starter, ein Monat, 01.04.2026 bis 01.05.2026')
  expect((await preview('cid', renewal, 'en'))[0]).toBe('Starter, one month, 1 Apr 2026 to 1 May 2026')
  desk.clock.advance(3 * DAY)
  const upgrade = { planName: 'pro', extraAccounts: 1 }
  const rest = '04.03.2026, 10:00:00 bis 01.04.2026, 10:00:00 UTC'
  expect((await preview('cid', upgrade)).slice(0, 3)).toEqual([
    `Pro, ${rest}`,
    `1 zusätzliches Social-Media-Konto, ${rest}`,
    `Ungenutzte Zeit von Starter, ${rest}`,
  ])
  expect((await preview('cid', upgrade, 'en'))[2]).toBe(
    'Unused time of Starter, 4 Mar 2026, 10:00:00 to 1 Apr 2026, 10:00:00 UTC',
  )
  // The quotes of cycles that were bought follow, in whatever language they were bought.
  await post('cid', '/api/billing/upgrade', upgrade, 'en')
  const [cycle] = (await as('cid').call(billing.listBillingCycles)).body.data
  expect(textsOf(cycle.quote).slice(0, 3)).toEqual([
    `Pro, ${rest}`,
    `1 zusätzliches Social-Media-Konto, ${rest}`,
    `Ungenutzte Zeit von Starter, ${rest}`,
  ])
})

test('a quote that was stored before it had texts for all languages is in English', async () => {
  await desk.app.database.run(
    `update billing_cycles set quote = jsonb_set(quote::jsonb, '{lines}',
       (select jsonb_agg(line - 'text' - 'named') from jsonb_array_elements(quote::jsonb->'lines') line))
     where user_id = $1 and quote is not null`,
    [desk.world.id('cid')],
  )
  const [cycle] = (await as('cid').call(billing.listBillingCycles)).body.data
  expect(textsOf(cycle.quote)[0]).toBe('Pro, 4 Mar 2026, 10:00:00 to 1 Apr 2026, 10:00:00 UTC')
})

test('a payment is described in the language of its request, or else in the payer’s', async () => {
  await german('dora')
  await desk.saveCard('dora')
  const topUp = { purpose: 'wallet', amount: 50_000, currency: 'USD' }
  expect((await post('dora', '/api/payments/charge', topUp)).payment.description).toBe('Guthaben aufladen')
  expect((await post('dora', '/api/payments/charge', topUp, 'en')).payment.description).toBe('Money for the wallet')
  const credits = { purpose: 'credits', creditCount: 1_500 }
  expect((await post('dora', '/api/payments/wallet', credits)).description).toBe('1.500 KI-Credits')
  const plan = { purpose: 'subscription', planName: 'starter', gateway: 'manual', couponCode: 'scarce' }
  const transfer = await post('dora', '/api/payments/initialize', plan)
  expect(transfer.payment.description).toBe('Starter, ein Monat')
  expect(transfer.instructions).toMatch(
    /^Example Ltd\n\nVerwendungszweck: CR-\S+\n\nDer Gutschein ist bis 11. März 2026/,
  )
  await post('dora', '/api/billing/upgrade', { planName: 'starter' })
  await as('dora').call(renewSubscription, { body: { terms: 1 } })
  const listed = await desk.payments('dora')
  expect(listed.slice(0, 2)).toMatchObject([
    { description: 'Starter, ein Monat, 04.04.2026 bis 04.05.2026' },
    { description: 'Starter, ein Monat' },
  ])
})

test.each([
  ['declined', 'Deine Zahlungsart wurde abgelehnt.'],
  ['without money', 'Du hast keine Zahlungsart hinterlegt, und dein Guthaben reicht nicht aus.'],
  ['without an address', 'Deine Rechnungsadresse ist nicht vollständig.'],
])('the mail about a charge that failed says why in German: %s', async (why, sentence) => {
  const name = `erik-${why.replaceAll(' ', '-')}`
  const isStranger = why === 'without an address'
  const { email } = isStranger ? await desk.world.user(name, { isBuyer: false }) : await desk.world.user(name)
  await as(name).call('PATCH /api/users/me', { body: { locale: 'de' } })
  if (why === 'without money') {
    await desk.topUp(name, 2_261)
    expect((await as(name).call(upgradeCycles, { body: { planName: 'starter' } })).status).toBe(200)
  } else {
    await as(name).call(billing.selectPlan, { body: { planName: 'starter' } })
    await desk.saveCard(name, isStranger ? undefined : 'pm_card_chargeCustomerFail')
  }
  desk.clock.advance(31 * DAY)
  for (let runs = 0; runs < 2; runs += 1) await desk.advance(name)
  const mail = await desk.app.outbox.newest(email, /fehlgeschlagen/)
  expect(mail.text).toContain(`Die Zahlung für deinen Tarif Starter ist fehlgeschlagen. ${sentence}`)
  expect(mail.text).not.toMatch(/\b(Your|payment|wallet|declined|There is)\b/)
})

test('the German billing page shows the price, the tax and the payments in German', async () => {
  const { complaints, page } = await openPage(browser, `${desk.app.url}/billing`, {
    viewport: { width: 375, height: 720 },
    locale: 'de-DE',
  })
  const { email } = await desk.world.user('fritz')
  await desk.topUp('fritz', 100_000)
  await page.getByLabel(/^E-?mail/i).fill(email)
  await page.getByLabel(/^Pass/i).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Tarife' }).click()
  await page.getByRole('region', { name: 'Starter' }).getByRole('button', { name: 'Sofort kaufen' }).click()
  const dialog = page.getByRole('dialog')
  const price = dialog.getByRole('group', { name: 'Preis' })
  await price.getByText('Starter, ein Monat').waitFor()
  await price.getByText('USt. 19 % (Deutschland)').waitFor()
  expect(await price.innerText()).not.toMatch(/\b(one month|VAT|Germany|Coupon|Unused)\b/)
  await dialog.getByRole('button', { name: /bezahlen$/ }).click()
  await page.locator('body > [role=status]').filter({ hasText: 'Bezahlt' }).waitFor()
  await page.getByRole('link', { name: 'Belege' }).click()
  await page.getByText('Starter, ein Monat').waitFor()
  expect(await page.locator('main').innerText()).not.toMatch(/\b(one month|Payment|Invoice|Paid|Wallet)\b/)
  expect(complaints).toEqual([])
  await page.context().close()
})
