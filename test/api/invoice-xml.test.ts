import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { InvoiceRow } from '../../src/domains/money/invoices/invoices.ts'
import { languageOf } from '../../src/domains/money/invoices/language.ts'
import { invoiceXml } from '../../src/domains/money/invoices/pdf/xml.ts'
import { upgradeCycles } from '../../src/domains/money/billing/purchase-operations.ts'
import { closePages, sharedBrowser } from '../support/browser.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { attachedXml, brokenRules } from '../support/en16931.ts'

/** The XML of invoices for buyers with hostile names, read by the strict parser of a browser. */

let desk: BillingDesk
let browser: Browser
let page: Page
beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z', {
    env: { SELLER_COUNTRY: 'DE', SELLER_VAT_NUMBER: 'DE136695976', SELLER_NAME: 'A & B <GmbH>' },
  })
  browser = await sharedBrowser()
  page = await browser.newPage()
})
afterAll(async () => {
  await closePages(browser)
  await desk?.stop()
})

const HOSTILE = `Q<A & "B" 'C' ]]> <![CDATA[ x ]]> <!-- -- --> <?xml version="1.0"?> &lt; &unknown; &#0;`

/** The name and the street of the buyer. Throws for XML that is not well-formed. */
async function buyerOf(xml: string): Promise<string[]> {
  const read = `(xml) => {
    const document = new DOMParser().parseFromString(xml, 'application/xml')
    const fault = document.querySelector('parsererror')
    if (fault !== null) throw new Error(fault.textContent)
    const [buyer] = document.getElementsByTagName('ram:BuyerTradeParty')
    return ['ram:Name', 'ram:LineOne'].map((name) => buyer.getElementsByTagName(name)[0].textContent)
  }`
  return page.evaluate<string[]>(`(${read})(${JSON.stringify(xml)})`)
}

test('a buyer whose name is markup gets a valid invoice that says the name', async () => {
  await desk.world.user('ada', { isBuyer: false })
  const ada = desk.world.as('ada')
  const address = { street: HOSTILE, postalCode: '10115', city: 'Berlin', country: 'DE', vatNumber: null }
  const saved = await ada.call('PUT /api/billing/profile', { body: { kind: 'person', name: HOSTILE, ...address } })
  expect(saved.status, saved.text).toBe(200)
  await desk.topUp('ada', 10_000)
  expect((await ada.call(upgradeCycles, { body: { planName: 'starter' } })).status).toBe(200)
  const [{ _id }] = (await ada.call('GET /api/billing/invoices')).body.data
  const headers = { 'X-API-Key': desk.world.key('ada') }
  const pdf = await fetch(`${desk.app.url}/api/billing/invoices/${_id}/pdf`, { headers })
  const xml = attachedXml(Buffer.from(await pdf.arrayBuffer()))
  expect(brokenRules(xml)).toEqual([])
  expect(await buyerOf(xml)).toEqual([HOSTILE, HOSTILE])
})

test('characters that XML cannot contain are left out of it; a profile with NUL or half a character is refused', async () => {
  const body = { kind: 'person', street: '', postalCode: '', city: '', country: 'DE', vatNumber: null }
  for (const name of ['a\u0000b', 'a\uD800b']) {
    const refused = await desk.world.as('ada').call('PUT /api/billing/profile', { body: { ...body, name } })
    expect([name, refused.status]).toEqual([name, 400])
  }
  const name = `a\u0000\u0001\b\u000B\u001F\u007F\uFFFE\uFFFFb \uD800 \uDC00 ${HOSTILE}`
  const row = { ...(await storedRow()), createdAt: '2026-01-31T10:00:00.000Z' }
  const buyer = { ...row.content.buyer, name, street: name }
  const xml = invoiceXml({ ...row, content: { ...row.content, buyer } }, 'INV-000001', languageOf('en'))
  expect(brokenRules(xml)).toEqual([])
  const shown = `ab \uFFFD \uFFFD ${HOSTILE}`
  expect(await buyerOf(xml)).toEqual([shown, shown])
})

async function storedRow(): Promise<InvoiceRow> {
  const row = await desk.app.database.row<InvoiceRow>('select * from invoices limit 1')
  if (row === undefined) throw new Error('there is no invoice')
  return row
}
