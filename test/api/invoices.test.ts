import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import {
  downloadInvoice,
  getBillingProfile,
  getInvoicePdf,
  listInvoices,
  updateBillingProfile,
} from '../../src/domains/money/invoices/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

const clock = new ManualClock(Date.parse('2026-11-23T10:00:00Z'))
const SELLER = {
  SELLER_NAME: 'Crier GmbH',
  SELLER_STREET: 'Invalidenstraße 116',
  SELLER_POSTAL_CODE: '10115',
  SELLER_CITY: 'Berlin',
  SELLER_COUNTRY: 'DE',
  SELLER_VAT_NUMBER: 'DE 136 695 976',
}
const FRENCH = {
  kind: 'business',
  name: 'Société Générale d’Essais',
  street: '1 rue de Rivoli',
  postalCode: '75001',
  city: 'Paris',
  country: 'FR',
  vatNumber: 'fr 40 303 265 045',
}
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock, env: SELLER })
  world = new World(app, { areBuyers: true })
})
afterAll(() => app?.stop())

const services = () => app.composition.services.invoices

/** Issues an invoice of 10.00 without tax, as the settlement of a payment does. */
async function issue(name: string, net = 1_000, paymentId = uuidv7(clock.now())) {
  const { id: userId } = await world.user(name)
  return app.database.transaction(async (tx) => {
    const taxes = (await services().taxes.of(tx, userId, clock.now()))(net)
    const total = net + (taxes[0]?.amount ?? 0)
    const lines = [{ description: 'Pro, one month', amount: net }]
    return services().issued.issue(tx, { userId, paymentId, currency: 'EUR', total, lines, taxes })
  })
}

const credit = (paymentId: string, amount: number, refundId = uuidv7(clock.now())) =>
  app.database.transaction((tx) => services().issued.credit(tx, { paymentId, refundId, amount, reason: 'Cancelled' }))

describe('the billing profile', () => {
  test('is that of a person until it is saved', async () => {
    await world.user('ada', { isBuyer: false })
    const { body } = await world.as('ada').call(getBillingProfile)
    expect(body.data).toMatchObject({ kind: 'person', country: null, vatNumber: null, version: 0 })
  })

  test('decides the tax, and keeps the VAT number without spaces', async () => {
    await world.user('bea', { isBuyer: false })
    const saved = await world.as('bea').call(updateBillingProfile, { body: FRENCH })
    expect(saved.body.data).toMatchObject({ vatNumber: 'FR40303265045', version: 1 })
    const invoice = await issue('bea')
    expect(invoice).toMatchObject({ net: 1_000, tax: 0, total: 1_000 })
    expect(invoice.content).toMatchObject({
      seller: { name: 'Crier GmbH', vatNumber: 'DE136695976' },
      buyer: { country: 'FR', vatNumber: 'FR40303265045' },
      taxes: [{ treatment: 'reverse_charge' }],
    })
    const person = { ...FRENCH, kind: 'person', vatNumber: null }
    expect(
      (await world.as('bea').call(updateBillingProfile, { body: person, headers: { 'If-Match': '"9"' } })).status,
    ).toBe(412)
    await world.as('bea').call(updateBillingProfile, { body: person })
    expect(await issue('bea')).toMatchObject({ net: 1_000, tax: 200, total: 1_200 })
  })

  test.each([
    [{ vatNumber: 'FR41303265045' }, 'is not a VAT number of FR'],
    [{ vatNumber: 'DE136695976' }, 'is not a VAT number of FR'],
    [{ country: null }, 'needs the country'],
    [{ kind: 'person' }, 'is only for businesses'],
  ])('refuses %j', async (change, message) => {
    await world.user('ada')
    const { body } = await world.as('ada').call(updateBillingProfile, { body: { ...FRENCH, ...change } })
    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ path: '/body/vatNumber', message }] })
  })
})

describe('invoices', () => {
  test('are issued once for a payment', async () => {
    const paymentId = uuidv7(clock.now())
    const first = await issue('cid', 1_000, paymentId)
    expect((await issue('cid', 1_000, paymentId)).id).toBe(first.id)
    expect(first).toMatchObject({ tax: 190, total: 1_190 })
  })

  test('must add up to what was paid', async () => {
    const { id: userId } = await world.user('cid')
    const lines = [{ description: 'Pro, one month', amount: 1_000 }]
    const request = { userId, paymentId: uuidv7(0), currency: 'EUR', total: 1_001, lines, taxes: [] }
    await expect(app.database.transaction((tx) => services().issued.issue(tx, request))).rejects.toThrow(RangeError)
  })

  test('have numbers without gaps, although transactions fail at the same time', async () => {
    await world.user('dan')
    const before = (await issue('dan')).number
    const all = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => {
        if (index % 3 !== 0) return issue('dan')
        return app.database.transaction(async (tx) => {
          const request = { userId: world.id('dan'), paymentId: uuidv7(index), currency: 'EUR', total: 5, taxes: [] }
          await services().issued.issue(tx, { ...request, lines: [{ description: 'x', amount: 5 }] })
          throw new Error('the settlement fails')
        })
      }),
    )
    const numbers = all.flatMap((result) => (result.status === 'fulfilled' ? [result.value.number] : []))
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => before + 1 + index))
  })

  test('are credited in parts, whose taxes add up to that of the invoice', async () => {
    const invoice = await issue('eva', 1_003)
    expect(invoice).toMatchObject({ net: 1_003, tax: 191, total: 1_194 })
    const refundId = uuidv7(clock.now())
    const parts = [await credit(invoice.paymentId, 333, refundId), await credit(invoice.paymentId, 333, refundId)]
    expect(parts[1]?.id).toBe(parts[0]?.id)
    parts.push(await credit(invoice.paymentId, 333), await credit(invoice.paymentId, 528))
    const taxes = parts.slice(1).map((part) => part?.tax ?? 0)
    expect(taxes).toEqual([53, 54, 84])
    expect(parts[0]).toMatchObject({ kind: 'credit_note', series: 'INVC', invoiceId: invoice.id, net: 280 })
    await expect(credit(invoice.paymentId, 1)).rejects.toThrow(RangeError)
    expect(await credit(uuidv7(0), 5)).toBeUndefined()
    const { body } = await world.as('eva').call(listInvoices)
    expect(body.data.map(({ kind, total }: { kind: string; total: number }) => [kind, total])).toEqual([
      ['credit_note', 528],
      ['credit_note', 333],
      ['credit_note', 333],
      ['invoice', 1_194],
    ])
    expect(body.data[3]).toMatchObject({
      invoiceNumber: expect.stringMatching(/^INV-\d{6}$/),
      transactionId: invoice.paymentId,
    })
  })

  test('are downloaded as PDF by their owner only', async () => {
    const { id, paymentId } = await issue('gus')
    await world.user('ada')
    for (const [operation, path] of [
      [getInvoicePdf, { id }],
      [downloadInvoice, { id: paymentId }],
    ] as const) {
      const own = await world.as('gus').call(operation, { path })
      expect(own.status).toBe(200)
      expect(own.headers.get('content-type')).toBe('application/pdf')
      expect(own.headers.get('content-disposition')).toMatch(/^attachment; filename="INV-\d{6}\.pdf"$/)
      expect(own.text).toMatch(/^%PDF-1\.7/)
      expect((await world.as('ada').call(operation, { path })).status).toBe(404)
    }
  })

  test.each([
    'update invoices set total = total',
    'delete from invoices',
    'truncate invoices',
    'truncate invoice_series',
    'update invoice_series set last_number = 0',
    'delete from invoice_series',
    `insert into invoice_series values ('X', 5)`,
  ])('the database refuses: %s', async (statement) => {
    await issue('fay')
    const refused = await app.database.run(statement).catch((error: unknown) => error)
    expect(refused).toMatchObject({ constraint: 'ledger_append_only' })
  })
})
