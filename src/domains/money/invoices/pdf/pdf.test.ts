import { PDFiumLibrary } from '@hyzyla/pdfium'
import { afterAll, expect, test } from 'vitest'
import {
  couponOff,
  credits,
  fullExtras,
  fullPlan,
  restOf,
  restOfExtras,
  unusedPart,
} from '../../billing/descriptions.ts'
import type { InvoiceRow } from '../invoices.ts'
import { languageOf } from '../language.ts'
import { quoteTaxes, taxRule } from '../tax/tax.ts'
import { InvoicePrinter } from './printer.ts'
import { documentView } from './view.ts'
import { invoiceXml } from './xml.ts'

const printer = new InvoicePrinter([])
afterAll(() => printer.close())

const NUMBER = 'INV-000042'
const SELLER = {
  name: 'Crier GmbH',
  street: 'Invalidenstraße 116',
  postalCode: '10115',
  city: 'Berlin',
  country: 'DE',
  vatNumber: 'DE136695976',
  taxNumber: '37/123/45678',
  email: 'billing@example.com',
}
const LINES = [
  {
    description: 'Pro, one month',
    amount: 4_900,
    from: '2026-11-08T00:00:00.000Z',
    to: '2026-12-08T00:00:00.000Z',
  },
  { description: 'Unused time of Starter, 15 of 30 days', amount: -950 },
  { description: '#emph[markup] *and* $x$ & <tags> "quotes" \\', amount: 100 },
]

function invoice(buyer: Partial<InvoiceRow['content']['buyer']> = {}): InvoiceRow {
  const to = { name: 'Łukasz Ελένη Иванов', street: '1 rue de Rivoli', postalCode: '75001', city: 'Paris' }
  const content = {
    seller: SELLER,
    buyer: { ...to, country: 'FR', vatNumber: null, email: null, ...buyer },
    lines: LINES,
  }
  const kind = content.buyer.vatNumber === null ? ('person' as const) : ('business' as const)
  const rule = taxRule(
    { country: 'DE', vatNumber: SELLER.vatNumber },
    { ...content.buyer, country: content.buyer.country ?? 'FR', kind },
    Date.parse('2026-11-23'),
  )
  const taxes = quoteTaxes(rule, 4_050)
  const tax = taxes[0]?.amount ?? 0
  return {
    id: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ef8',
    kind: 'invoice',
    series: 'INV',
    number: 42,
    reference: 'invoice:1',
    userId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e70',
    paymentId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ef9',
    invoiceId: null,
    currency: 'EUR',
    net: 4_050,
    tax,
    total: 4_050 + tax,
    content: { ...content, taxes, paidBy: 'card' },
    createdAt: '2026-11-23T10:00:00.000Z',
  }
}

const ENGLISH = languageOf('en')

async function print(row: InvoiceRow, language = ENGLISH) {
  const xml = invoiceXml(row, NUMBER, language)
  const pdf = await printer.print({
    view: documentView(row, NUMBER, language),
    xml,
    createdAt: Date.parse(row.createdAt),
  })
  const library = await PDFiumLibrary.init()
  const document = await library.loadDocument(pdf)
  const pages = [...document.pages()]
  const text = pages.map((page) => page.getText()).join('\n')
  const image = await pages[0]?.render({ scale: 1, render: 'bitmap' })
  document.destroy()
  library.destroy()
  // Hyphens and spaces of typography are those of plain text.
  return { pdf, xml, pages: pages.length, image, text: text.replaceAll(/[\u00A0\u202F\s]+/g, ' ') }
}

test('the PDF shows what the invoice says, in the reader’s language, and takes no text as markup', async () => {
  const { pages, text } = await print(invoice())
  expect(pages).toBe(1)
  for (const shown of [
    'Invoice INV-000042',
    'Crier GmbH',
    'Invalidenstraße 116',
    'VAT number DE136695976',
    'Łukasz Ελένη Иванов',
    'France',
    '8 Nov 2026 – 7 Dec 2026',
    'Pro, one month',
    '€49.00',
    '-€9.50',
    '#emph[markup] *and* $x$ & <tags> "quotes" \\',
    'Net €40.50',
    'VAT 20 % (France) €8.10',
    'Total, paid €48.60',
    'Tax number 37/123/45678',
  ]) {
    expect(text).toContain(shown)
  }
})

/** An invoice with each kind of line, or its credit note. */
function complete(): InvoiceRow {
  const row = invoice()
  const { from, to } = { from: '2026-11-08T10:00:00.000Z', to: '2026-12-08T10:00:00.000Z' }
  const period = { start: Date.parse(from), end: Date.parse(to) }
  const described = [
    fullPlan('pro', 'quarter'),
    fullExtras(2, 'quarter'),
    restOf('pro', period),
    restOfExtras(1, period),
    unusedPart('starter', 0, period),
    unusedPart('starter', 2, period),
    credits(1_000),
    couponOff('SPRING', 12.5),
    couponOff('SUMMER', null),
  ]
  const lines = described.map((line) => ({ ...line, amount: 450, from, to }))
  return { ...row, content: { ...row.content, lines } }
}

function creditNote(): InvoiceRow {
  const row = complete()
  const { from, to } = { from: '2026-11-08T10:00:00.000Z', to: '2026-12-08T10:00:00.000Z' }
  const text = { key: 'invoice.line.refund', values: { number: NUMBER } } as const
  const lines = [{ description: `Refund of ${NUMBER}`, text, amount: row.net, from, to }]
  const credits = { number: NUMBER, createdAt: row.createdAt, reason: 'Ein Ausfall' }
  return { ...row, kind: 'credit_note', content: { ...row.content, lines, credits, paidBy: null } }
}

test('a document is complete in German', async () => {
  const german = languageOf('de')
  const [{ text }, correction] = [await print(complete(), german), await print(creditNote(), german)]
  for (const shown of [
    'Rechnung INV-000042',
    'Deutschland',
    'USt-IdNr. DE136695976',
    'Steuernummer 37/123/45678',
    'Leistungszeitraum 08.11.2026 – 08.12.2026',
    'Bezahlt mit Karte',
    'Pro, drei Monate',
    '2 zusätzliche Social-Media-Konten, drei Monate',
    'Pro, 08.11.2026, 10:00:00 bis 08.12.2026, 10:00:00 UTC',
    '1 zusätzliches Social-Media-Konto, 08.11.2026',
    'Ungenutzte Zeit von Starter, 08.11.2026',
    'Ungenutzte Zeit von Starter mit 2 zusätzlichen Social-Media-Konten',
    '1.000 KI-Credits',
    'Gutschein SPRING (12,5 %)',
    'Gutschein SUMMER 08.11.2026',
    'Netto 40,50 €',
    'USt. 20 % (Frankreich) 8,10 €',
    'Gesamt, bezahlt 48,60 €',
  ]) {
    expect(text).toContain(shown)
  }
  for (const shown of [
    'Rechnungskorrektur',
    'Rechnung INV-000042, 23.11.2026',
    'Erstattung von INV-000042',
    'Leistungszeitraum 08.11.2026 – 08.12.2026',
    'Erstattet 48,60 €',
    'Grund: Ein Ausfall',
  ]) {
    expect(correction.text).toContain(shown)
  }
  expect(`${text} ${correction.text}`).not.toMatch(
    /\b(Invoice|Credit note|From|To|Description|Period|Amount|Date|Paid|Net|VAT|Total|Tax number|Refund|Reason|Coupon|Unused|extra|month|France|Germany)\b/,
  )
})

test('a document has the period of service, of each line and of the whole', () => {
  for (const row of [complete(), creditNote()]) {
    const xml = invoiceXml(row, NUMBER, ENGLISH)
    const period =
      '<ram:BillingSpecifiedPeriod><ram:StartDateTime><udt:DateTimeString format="102">20261108</udt:DateTimeString></ram:StartDateTime>' +
      '<ram:EndDateTime><udt:DateTimeString format="102">20261208</udt:DateTimeString></ram:EndDateTime></ram:BillingSpecifiedPeriod>'
    expect(xml.split(period)).toHaveLength(row.content.lines.length + 2)
    expect(xml).toContain(`</ram:ApplicableTradeTax>${period}<ram:SpecifiedTradeSettlementHeaderMonetarySummation>`)
  }
})

test('a reverse charge is explained', async () => {
  const { text, xml } = await print(invoice({ vatNumber: 'FR40303265045' }))
  expect(text).toContain('VAT 0 % (reverse charge) €0.00')
  expect(text).toContain('Reverse charge: the customer owes the VAT')
  expect(text).toContain('Total, paid €40.50')
  expect(xml).toContain('<ram:CategoryCode>AE</ram:CategoryCode>')
  expect(xml).toContain('<ram:ID schemeID="VA">FR40303265045</ram:ID>')
})

test('the file is tagged PDF/A-3 with the XML attached, and says that it is Factur-X', async () => {
  const { pdf } = await print(invoice())
  const file = pdf.toString('latin1')
  expect(file).toMatch(/\/MarkInfo\s*<<\s*\/Marked true/)
  expect(file).toContain('/AFRelationship /Alternative')
  expect(file).toContain('factur-x.xml')
  // The newest version of the metadata is the one that the last table of references names.
  const at = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(file)?.[1])
  const [, id, offset] = /^xref\n(\d+) 1\n(\d{10}) 00000 n \ntrailer\n/.exec(file.slice(at)) ?? []
  const object = pdf.subarray(Number(offset)).toString()
  expect(object).toMatch(new RegExp(String.raw`^${id} 0 obj\n<<\n/Length \d+\n/Type /Metadata`))
  const xmp = /stream\n([\s\S]*?)\nendstream/.exec(object)?.[1] ?? ''
  expect(Buffer.byteLength(xmp)).toBe(Number(/\/Length (\d+)/.exec(object)?.[1]))
  for (const part of [
    '<pdfaid:part>3</pdfaid:part>',
    '<pdfaid:conformance>A</pdfaid:conformance>',
    '<fx:DocumentFileName>factur-x.xml</fx:DocumentFileName>',
    '<fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>',
  ]) {
    expect(xmp).toContain(part)
  }
})

test.each([
  ['Japanese', '山田太郎 株式会社ゆめ'],
  ['Chinese', '王小明（有限公司）'],
  ['Korean', '김민수 주식회사'],
  ['Thai', 'บริษัท สมหญิง จำกัด'],
  ['Hebrew', 'חברת תקווה בע״מ'],
  ['Arabic', 'شركة بيت التجارة'],
])('a name in %s is drawn, and can be read out of the PDF', async (_script, name) => {
  const { pdf, text } = await print(invoice({ name }))
  expect(text).toContain(name)
  // PDF/A must show every character, so the compiler refuses it if a glyph is missing.
  expect(pdf.toString('latin1')).toContain('pdfaid')
})

test('a name that no font can show still gets an invoice, with the name in the XML', async () => {
  const { pdf, text, xml } = await print(invoice({ name: '𒀀𒁀' }))
  expect(text).toContain('Total, paid €48.60')
  expect(xml).toContain('<ram:Name>𒀀𒁀</ram:Name>')
  expect(pdf.toString('latin1')).not.toContain('pdfaid')
})

test('the XML has the parties, lines, taxes and totals of the invoice', () => {
  const xml = invoiceXml(invoice(), NUMBER, ENGLISH)
  for (const part of [
    '<ram:ID>urn:cen.eu:en16931:2017</ram:ID>',
    '<ram:ID>INV-000042</ram:ID><ram:TypeCode>380</ram:TypeCode>',
    '<udt:DateTimeString format="102">20261123</udt:DateTimeString>',
    '<ram:ChargeAmount>9.50</ram:ChargeAmount>',
    '<ram:BilledQuantity unitCode="C62">-1</ram:BilledQuantity>',
    '<ram:LineTotalAmount>-9.50</ram:LineTotalAmount>',
    '&lt;tags&gt;',
    '<ram:CalculatedAmount>8.10</ram:CalculatedAmount><ram:TypeCode>VAT</ram:TypeCode><ram:BasisAmount>40.50</ram:BasisAmount><ram:CategoryCode>S</ram:CategoryCode><ram:RateApplicablePercent>20</ram:RateApplicablePercent>',
    '<ram:TaxTotalAmount currencyID="EUR">8.10</ram:TaxTotalAmount><ram:GrandTotalAmount>48.60</ram:GrandTotalAmount>',
  ]) {
    expect(xml).toContain(part)
  }
  // Not subject to VAT, so without VAT numbers, and with another identifier of the seller (BR-CO-26, BR-O-02).
  const abroad = invoiceXml(invoice({ country: 'JP' }), NUMBER, ENGLISH)
  expect(abroad).toContain('<ram:SellerTradeParty><ram:ID>37/123/45678</ram:ID><ram:Name>')
  expect(abroad).not.toContain('schemeID="VA"')
  expect(invoiceXml({ ...invoice(), currency: 'JPY' }, NUMBER, ENGLISH)).toContain(
    '<ram:GrandTotalAmount>4860</ram:GrandTotalAmount>',
  )
})
