import { execFile } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCoupon } from '../../src/domains/money/billing/coupon-operations.ts'
import { addExtraAccounts, upgradeCycles } from '../../src/domains/money/billing/purchase-operations.ts'
import { DAY } from '../../src/core/clock.ts'
import { startBillingDesk, type BillingDesk } from '../support/customer.ts'
import { attachedXml, brokenRules } from '../support/en16931.ts'

/**
 * Invoices and credit notes of every kind of buyer, in both languages, against the rules of EN 16931. With `MUSTANG_JAR`
 * (Mustang-CLI, which needs Java), its validator checks the same files: PDF/A-3, Factur-X and the whole Schematron.
 */

const run = promisify(execFile)
const ADDRESS = { street: '1 High Street', postalCode: '75001', city: 'Sometown' }
const BUYERS = {
  german: { kind: 'person', name: 'Ada', ...ADDRESS, country: 'DE', vatNumber: null },
  french: { kind: 'business', name: 'Société d’Essais', ...ADDRESS, country: 'FR', vatNumber: 'FR40303265045' },
  american: { kind: 'person', name: 'Bob', street: '', postalCode: '', city: '', country: 'US', vatNumber: null },
  japanese: { kind: 'business', name: '株式会社ゆめ', ...ADDRESS, country: 'JP', vatNumber: null },
} as const

let desk: BillingDesk
beforeAll(async () => {
  desk = await startBillingDesk('2026-01-31T10:00:00Z', {
    env: {
      SELLER_NAME: 'Crier GmbH',
      SELLER_STREET: 'Invalidenstraße 116',
      SELLER_POSTAL_CODE: '10115',
      SELLER_CITY: 'Berlin',
      SELLER_COUNTRY: 'DE',
      SELLER_VAT_NUMBER: 'DE136695976',
      SELLER_TAX_NUMBER: '37/123/45678',
      SELLER_EMAIL: 'billing@example.com',
    },
  })
  const coupon = { code: 'TEN', percent: 10, cycles: 1 }
  expect((await desk.world.as('root').call(createCoupon, { body: coupon })).status).toBe(201)
})
afterAll(() => desk?.stop())

/** Buys a bit of everything, and gets a part and then the rest back. */
async function trade(name: string): Promise<void> {
  await desk.topUp(name, 200_000)
  const as = desk.world.as(name)
  const bought = [
    await as.call(upgradeCycles, { body: { planName: 'starter', couponCode: 'ten' } }),
    await as.call(addExtraAccounts, { body: { count: 2 } }),
    await as.call('POST /api/payments/wallet', { body: { purpose: 'credits', creditCount: 333 } }),
  ]
  desk.clock.advance(3 * DAY + 4_321)
  bought.push(await as.call(upgradeCycles, { body: { planName: 'pro' } }))
  expect(bought.map(({ status }) => status)).toEqual([200, 200, 201, 200])
  const [last] = await desk.payments(name)
  for (const amount of [333, undefined]) {
    const body = { reason: 'Ein Ausfall & mehr', ...(amount !== undefined && { amount }) }
    const path = { id: last?._id ?? '' }
    const refund = await desk.world.as('root').call('POST /api/payments/{id}/refund', { path, body })
    expect(refund.status, refund.text).toBe(201)
  }
}

/** The documents of a buyer, as PDF. */
async function documents(name: string, language: string): Promise<{ name: string; kind: string; pdf: Buffer }[]> {
  const { data } = (await desk.world.as(name).call('GET /api/billing/invoices', { query: { limit: 20 } })).body
  const found: { name: string; kind: string; pdf: Buffer }[] = []
  for (const { _id, invoiceNumber, kind } of data) {
    const reply = await fetch(`${desk.app.url}/api/billing/invoices/${_id}/pdf`, {
      headers: { 'X-API-Key': desk.world.key(name), 'Accept-Language': language },
    })
    expect(reply.headers.get('content-language')).toBe(language)
    found.push({ name: `${invoiceNumber}-${language}.pdf`, kind, pdf: Buffer.from(await reply.arrayBuffer()) })
  }
  return found
}

test.each(Object.keys(BUYERS) as (keyof typeof BUYERS)[])(
  'the documents of a %s buyer are valid',
  async (name) => {
    await desk.world.user(name, { isBuyer: false })
    const saved = await desk.world.as(name).call('PUT /api/billing/profile', { body: BUYERS[name] })
    expect(saved.status, saved.text).toBe(200)
    await trade(name)
    const all = [...(await documents(name, 'en')), ...(await documents(name, 'de'))]
    expect(all.map(({ kind }) => kind).toSorted()).toEqual([
      ...Array.from({ length: 4 }, () => 'credit_note'),
      ...Array.from({ length: 8 }, () => 'invoice'),
    ])
    for (const { name: file, pdf } of all) expect([file, brokenRules(attachedXml(pdf))]).toEqual([file, []])
    const jar = process.env['MUSTANG_JAR']
    if (jar === undefined) return
    const folder = await mkdtemp(join(tmpdir(), 'invoices-'))
    for (const { name: file, pdf } of all) await writeFile(join(folder, file), pdf)
    const arguments_ = ['-jar', jar, '--action', 'validateExpectValid', '--disable-file-logging', '-d', folder]
    const { stderr, stdout } = await run('java', arguments_, { maxBuffer: 1e8 })
    expect(stderr.split('\n').filter((line) => /Testing file \d+: +invalid/.test(line))).toEqual([])
    expect(stderr.match(/Testing file \d+: +valid/g)).toHaveLength(all.length)
    expect(stdout).toContain('Overall test result: valid')
  },
  600_000,
)
