import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closePages, foreignRequests, openPage, sharedBrowser } from '../support/browser.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { PASSWORD } from '../support/people.ts'

const PHONE = { width: 375, height: 720 }

let desk: BillingDesk
let browser: Browser
beforeAll(async () => {
  desk = await startBillingDesk('2026-03-01T10:00:00Z', {
    env: { BANK_TRANSFER_INSTRUCTIONS: 'Example Ltd\nDE00 0000' },
  })
  browser = await sharedBrowser()
})
afterAll(async () => {
  await closePages(browser)
  await desk?.stop()
})

const visit = (locale = 'en-US', colorScheme: 'dark' | 'light' = 'light') =>
  openPage(browser, `${desk.app.url}/billing`, { viewport: PHONE, locale, colorScheme, hasTouch: true })

/** Without touching the mouse. */
async function signIn(page: Page, name: string): Promise<void> {
  const { email } = await desk.world.user(name)
  await page.getByLabel(/^E-?mail/i).fill(email)
  await page.getByLabel(/^Pass/i).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page
    .getByRole('heading', { level: 2 })
    .filter({ hasText: /Overview|Überblick/ })
    .waitFor()
}

const shot = async (page: Page, name: string) => {
  const folder = process.env['SCREENSHOTS']
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

const status = (page: Page, text: RegExp) => page.locator('body > [role=status]').filter({ hasText: text }).waitFor()

/** A page on a phone must not scroll sideways. */
async function expectFits(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
}

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab')
    const label = await page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.textContent')
    if (name.test(label)) return
  }
  throw new Error(`the keyboard does not reach ${String(name)}`)
}

test('a payer enters a card in the gateway’s element, sees the price, pays it, and downloads the receipt', async () => {
  const { complaints, page, requested } = await visit()
  await signIn(page, 'paula')
  await page.getByText('Your plan: Free').waitFor()
  await shot(page, 'overview-free')
  await expectFits(page)

  await page.getByRole('link', { name: 'Receipts' }).click()
  await page.getByText('There are no invoices yet').waitFor()
  await page.getByRole('link', { name: 'Payment' }).click()
  await page.getByText('No card is saved').waitFor()
  await page.getByRole('button', { name: 'Add a card' }).click()
  const card = page.frameLocator('iframe[title="Secure payment input frame"]')
  await card.getByLabel('Card number').fill('4242 4242 4242 4242')
  await shot(page, 'card-dialog')
  await page.getByRole('button', { name: 'Save the card' }).click()
  await status(page, /card was saved/)
  await page.getByText('visa ending in 4242').waitFor()
  await shot(page, 'payment')
  await expectFits(page)

  await page.getByRole('link', { name: 'Plans' }).click()
  await page.getByLabel('One year').check()
  await shot(page, 'plans')
  await expectFits(page)
  const pro = page.getByRole('region', { name: 'Pro' })
  await pro.getByText('$490.00 for one year').waitFor()
  await pro.getByRole('button', { name: 'Buy now' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('group', { name: 'Price' }).getByText('Total now').waitFor()
  await shot(page, 'checkout')
  await desk.world.as('root').call('POST /api/billing/coupons', { body: { code: 'SPRING', percent: 20 } })
  await dialog.getByLabel('Coupon').fill('NOSUCH')
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await dialog
    .getByRole('alert')
    .filter({ hasText: /coupon/i })
    .waitFor()
  await dialog.getByLabel('Coupon').fill('spring')
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await dialog.getByRole('button', { name: 'Pay $392.00' }).waitFor()
  await shot(page, 'checkout-coupon')
  expect(await desk.payments('paula'), 'nothing is charged before').toEqual([])
  await dialog.getByRole('button', { name: 'Pay $392.00' }).click()
  await status(page, /^Paid/)
  expect(await desk.payments('paula')).toMatchObject([{ status: 'succeeded', amount: 39_200 }])

  await page.getByRole('link', { name: 'Receipts' }).click()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: /Download the PDF/ }).click()
  expect((await download).suggestedFilename()).toMatch(/\.pdf$/)
  await shot(page, 'receipts')
  await expectFits(page)
  expect(foreignRequests(requested, desk.app.url).filter((url) => !url.startsWith(desk.stripe.url))).toEqual([])
  expect(new URL(page.url()).search, 'no secret in the address').toBe('')
  expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([0, 0, ''])
  expect(complaints.filter((text) => !/status of 409/.test(text))).toEqual([])
  await page.context().close()
})

test('everything that a cancellation needs can be done with the keyboard, in German and in the dark', async () => {
  const { complaints, page } = await visit('de-DE', 'dark')
  await signIn(page, 'karl')
  await desk.saveCard('karl')
  await desk.world.as('karl').call('POST /api/billing/upgrade', { body: { planName: 'starter', term: 'month' } })
  await tabTo(page, /^Tarife$/)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Tarife' }).waitFor()
  await tabTo(page, /^Pro nehmen$/)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('Ungenutzte Zeit').first().waitFor()
  await shot(page, 'checkout-de-dark')
  await page.keyboard.press('Escape')
  await page.waitForFunction(`document.activeElement.textContent === 'Pro nehmen'`)
  await page.goto(`${desk.app.url}/billing#overview`)
  await tabTo(page, /^Abonnement kündigen$/)
  await page.keyboard.press('Enter')
  await page
    .getByRole('dialog')
    .getByText(/Starter bleibt bis 1. April 2026/)
    .waitFor()
  await shot(page, 'cancel-de-dark')
  await tabTo(page, /^Abonnement jetzt kündigen$/)
  await page.keyboard.press('Enter')
  await status(page, /gekündigt/)
  await shot(page, 'overview-de-dark')
  await expectFits(page)
  const current = await desk.world.as('karl').call('GET /api/subscriptions/current')
  expect(current.body.data.status).toBe('cancelled')
  expect(complaints).toEqual([])
  await page.context().close()
})

test('402 says why and offers another way: the bank asks, and a declined renewal is paid by transfer', async () => {
  const { page } = await visit()
  await signIn(page, 'dana')
  await desk.saveCard('dana', 'pm_card_chargeCustomerFail')
  await page.getByRole('link', { name: 'Plans' }).click()
  await page.getByRole('region', { name: 'Starter' }).getByRole('button', { name: 'Buy now' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Pay $19.00' }).click()
  await dialog
    .getByRole('alert')
    .filter({ hasText: /declined.*another way to pay/ })
    .waitFor()
  await shot(page, 'declined')
  await dialog.getByLabel('Another card').check()
  await dialog.getByRole('button', { name: 'Pay $19.00' }).click()
  await page
    .frameLocator('iframe[title="Secure payment input frame"]')
    .getByLabel('Card number')
    .fill('4000002760003184')
  await dialog.getByRole('button', { name: 'Pay $19.00' }).click()
  await page.frameLocator('iframe[title="Bank"]').getByRole('button', { name: 'Confirm' }).click()
  await status(page, /^Paid/)

  // The saved card needs the payer each time, so the renewal fails.
  desk.advanceTo('2026-04-01T10:00:01Z')
  await desk.advance('dana')
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('alert').filter({ hasText: 'session has ended' }).waitFor()
  await signIn(page, 'dana')
  await page.getByText(/A payment for Starter has failed/).waitFor()
  await shot(page, 'past-due')
  await page.getByRole('button', { name: 'Pay now' }).click()
  await dialog.getByLabel('Bank transfer').check()
  await dialog.getByRole('button', { name: 'Pay $19.00' }).click()
  await dialog.getByText('DE00 0000').waitFor()
  await dialog.getByText(/^CR-\w+-\w+$/).waitFor()
  await shot(page, 'transfer')
  await expectFits(page)
  await page.context().close()
})

test('a payer buys extra accounts, lets one end, and chooses what a smaller plan keeps', async () => {
  const { complaints, page } = await visit()
  await desk.world.user('emil')
  await desk.saveCard('emil')
  const emil = desk.world.as('emil')
  await emil.call('POST /api/billing/upgrade', { body: { planName: 'pro', term: 'month' } })
  const workspaceId = await desk.world.workspace('emils', 'emil')
  const accountIds: string[] = []
  for (let made = 0; made < 17; made += 1) {
    const body = { workspaceId, platform: 'telegram', sandbox: true }
    accountIds.push((await emil.call('POST /api/social-accounts', { body })).body.data._id)
  }
  await signIn(page, 'emil')
  await page.getByRole('link', { name: 'Plans' }).click()
  await page.getByLabel('How many more').fill('2')
  await page.getByRole('button', { name: 'Show the price' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: /^Pay / }).click()
  await status(page, /^Paid/)
  await page.getByText('You have 2 extra accounts, and use 17 accounts').waitFor()
  await page.getByRole('button', { name: 'Remove one at the next renewal' }).click()
  await status(page, /One extra account is removed/)
  await page.getByRole('button', { name: 'Keep the 1 that end on' }).waitFor()
  await shot(page, 'extra-accounts')

  // Starter has 15 accounts, and one of the extra accounts stays.
  await page.getByRole('button', { name: 'Change to Starter' }).click()
  await dialog.getByText('At most 16').waitFor()
  await shot(page, 'downgrade')
  await expectFits(page)
  const boxes = dialog.getByRole('checkbox')
  expect(await boxes.count()).toBe(17)
  const confirm = dialog.getByRole('button', { name: 'Change to Starter' })
  await boxes.nth(16).check()
  await confirm.click()
  await dialog.getByRole('alert').filter({ hasText: '17 are chosen. The plan allows 16.' }).waitFor()
  await boxes.nth(0).uncheck()
  const dropped = await boxes.nth(0).inputValue()
  await confirm.click()
  await status(page, /^Starter begins on/)
  const { data } = (await emil.call('GET /api/subscriptions/current')).body
  expect(data.nextPlan).toBe('starter')
  expect(new Set(data.keepAccountIds)).toEqual(new Set(accountIds.filter((id) => id !== dropped)))
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('button', { name: 'Keep the current plan' }).click()
  await status(page, /The current plan stays/)
  expect(complaints).toEqual([])
  await page.context().close()
})

test('a plan that an administrator has given has nothing to cancel', async () => {
  const { page } = await visit()
  await desk.world.user('gina', { plan: 'pro' })
  await signIn(page, 'gina')
  await page.getByText('You do not pay for it').waitFor()
  expect(await page.getByRole('button', { name: /Cancel/ }).count()).toBe(0)
  await page.getByRole('link', { name: 'Plans' }).click()
  await page.getByRole('region', { name: 'Business' }).getByRole('button').first().waitFor()
  expect(await page.getByRole('button', { name: /Cancel|Change to Starter/ }).count()).toBe(0)
  await page.context().close()
})

test('a trial begins with its price in sight, and coins are shown with an address, an amount and a QR code', async () => {
  const { complaints, page } = await visit()
  await signIn(page, 'tina')
  await page.getByRole('link', { name: 'Plans' }).click()
  await page.getByRole('region', { name: 'Pro' }).getByRole('button', { name: 'Try Pro for 14 days' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('$49.00 for one month plus tax is charged').waitFor()
  await dialog.getByRole('button', { name: 'Try Pro for 14 days' }).click()
  await status(page, /^The trial runs until/)
  await page.getByRole('region', { name: 'Starter' }).getByRole('button', { name: 'Try Starter instead' }).waitFor()

  const address = 'rltc1qexampleexampleexample'
  const crypto = {
    coin: 'ltc',
    address,
    coinAmount: '0.25',
    receivedCoinAmount: '0',
    uri: `litecoin:${address}?amount=0.25`,
    confirmationsNeeded: 2,
  }
  const open = { status: 'pending' as const, total: { amount: 2_500, currency: 'USD' }, received: 0, refunds: [] }
  desk.app.composition.services.payments.gateways.add({
    key: 'crypto-ltc',
    config: {
      title: 'Litecoin',
      kind: 'crypto',
      publicKey: null,
      scriptUrl: null,
      currencies: ['USD'],
      minimums: {},
      savesMethods: false,
      coins: ['ltc'],
    },
    create: async () => ({ ...open, reference: address, data: { crypto } }),
    retrieve: async () => ({ ...open, reference: address, data: { crypto: { ...crypto, receivedCoinAmount: '0.1' } } }),
    cancel: async () => ({ ...open, reference: address }),
    async *list() {
      yield* []
    },
  })
  await page.getByRole('link', { name: 'Payment' }).click()
  await page.getByRole('button', { name: 'Add money' }).click()
  await dialog.getByLabel('Amount in USD').fill('0.5')
  await dialog.getByLabel('Litecoin').check()
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByRole('alert').filter({ hasText: 'at least $1.00' }).waitFor()
  await dialog.getByLabel('Amount in USD').fill('25')
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByText(address, { exact: true }).waitFor()
  await dialog.getByRole('img', { name: 'QR code for a wallet app' }).waitFor()
  await dialog.getByText('Seen so far: 0.1 LTC').waitFor()
  await shot(page, 'coins')
  expect(complaints).toEqual([])
  await page.context().close()
})

test('a user who has signed in sees the theme and the spacing of their settings, until they sign out', async () => {
  await desk.world.user('thea')
  await desk.world.as('thea').call('PATCH /api/users/me/settings/ui', { body: { theme: 'light', density: 'compact' } })
  const { complaints, page } = await visit('en-US', 'dark')
  const look = () =>
    page.evaluate<[string, number]>(
      `[getComputedStyle(document.body).color, document.querySelector('main button').getBoundingClientRect().height]`,
    )
  await page.getByLabel('Email').waitFor()
  const [white, black] = ['rgb(255, 255, 255)', 'rgb(0, 0, 0)']
  const before = await look()
  expect(before).toEqual([white, 44])
  await signIn(page, 'thea')
  await page.getByRole('link', { name: 'Plans' }).click()
  await page.getByRole('button', { name: 'Buy now' }).first().waitFor()
  const [color, height] = await look()
  expect(color).toBe(black)
  expect(height).toBeLessThan(40)
  await shot(page, 'plans-light-compact')
  await expectFits(page)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out').waitFor()
  expect(await look()).toEqual(before)
  expect(complaints).toEqual([])
  await page.context().close()
})

test('the page shows an error when the gateway’s script or the server cannot be reached', async () => {
  const { page } = await visit()
  await signIn(page, 'nora')
  await page.getByRole('link', { name: 'Payment' }).click()
  await page.route('**/js/stripe.js', (route) => route.abort())
  await page.getByRole('button', { name: 'Add a card' }).click()
  await page
    .getByRole('dialog')
    .getByRole('alert')
    .filter({ hasText: /did not load/ })
    .waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.route('**/api/**', (route) => route.abort())
  await page.getByRole('link', { name: 'Receipts' }).click()
  await page.getByText('The server is not responding').waitFor()
  await shot(page, 'away')
  await page.unroute('**/api/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('There are no invoices yet').waitFor()
  await page.context().close()
})

test('a payer without an invoice address is asked for it before the price with tax', async () => {
  await desk.world.user('nils', { isBuyer: false })
  await desk.saveCard('nils')
  const { page } = await visit()
  await signIn(page, 'nils')
  await page.getByRole('link', { name: 'Plans' }).click()
  await page.getByRole('region', { name: 'Starter' }).getByRole('button', { name: 'Buy now' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Add your invoice address first').waitFor()
  expect(await dialog.getByRole('button', { name: /^Pay/ }).count()).toBe(0)
  await shot(page, 'checkout-address')
  await expectFits(page)
  await dialog.getByLabel('Country').fill('US')
  await dialog.getByRole('button', { name: 'Save the address' }).click()
  await dialog.getByRole('button', { name: 'Pay $19.00' }).click()
  await status(page, /^Paid/)
  await page.context().close()
})
