import { inflateSync } from 'node:zlib'
import { DomUtils, ElementType, parseDocument } from 'htmlparser2'

/** Reads the XML that is attached to the PDF of an invoice. */
export function attachedXml(pdf: Buffer): string {
  const file = pdf.toString('latin1')
  const found = /\/Type \/EmbeddedFile[\s\S]*?>>\s*stream\n/.exec(file)
  if (found === null) throw new Error('the PDF has no attachment')
  const start = found.index + found[0].length
  const bytes = pdf.subarray(start, file.indexOf('\nendstream', start))
  return (/\/Filter \/FlateDecode/.test(found[0]) ? inflateSync(bytes) : bytes).toString()
}

type Document = ReturnType<typeof parseDocument>
type Element = Extract<Document['children'][number], { readonly attribs: unknown }>
type Parent = Document | Element

/** The elements of a name in another one, without its namespace. */
function all(node: Parent | undefined, name: string): Element[] {
  const elements = (node?.children ?? []).filter((child): child is Element => child.type === ElementType.Tag)
  return elements.filter((element) => element.name.split(':').at(-1) === name)
}

/** The first element at a path of names; undefined if there is none. */
function at(node: Parent | undefined, path: string): Element | undefined {
  return path.split('.').reduce<Parent | undefined>((found, name) => all(found, name)[0], node) as Element | undefined
}

function textAt(node: Parent | undefined, path: string): string {
  const found = at(node, path)
  return found === undefined ? '' : DomUtils.textContent(found)
}

/** An amount in hundredths. */
const cents = (node: Parent | undefined, path: string) => Math.round(Number(textAt(node, path)) * 100)
const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)

/**
 * The business rules of EN 16931 that an invoice or a credit note breaks, by their names, of those that depend on what
 * Crier fills in. A part of the official Schematron, which needs Java: see the README of money. `BT-…` are periods that
 * EN 16931 does not require and we always state.
 */
export function brokenRules(xml: string): string[] {
  const root = at(parseDocument(xml, { xmlMode: true }), 'CrossIndustryInvoice')
  const trade = at(root, 'SupplyChainTradeTransaction')
  const header = at(trade, 'ApplicableHeaderTradeSettlement')
  const [seller, buyer] = ['SellerTradeParty', 'BuyerTradeParty'].map((party) =>
    at(trade, `ApplicableHeaderTradeAgreement.${party}`),
  )
  const totals = at(header, 'SpecifiedTradeSettlementHeaderMonetarySummation')
  const lines = all(trade, 'IncludedSupplyChainTradeLineItem')
  const taxes = all(header, 'ApplicableTradeTax')
  const codes = taxes.map((tax) => textAt(tax, 'CategoryCode'))
  const isCredit = textAt(root, 'ExchangedDocument.TypeCode') === '381'
  const ids = (party: Parent | undefined, scheme: string) =>
    all(party, 'SpecifiedTaxRegistration').filter((id) => at(id, 'ID')?.attribs['schemeID'] === scheme)
  const periods = [header, ...lines.map((line) => at(line, 'SpecifiedLineTradeSettlement'))].map((owner) =>
    ['StartDateTime', 'EndDateTime'].map((name) => textAt(owner, `BillingSpecifiedPeriod.${name}.DateTimeString`)),
  )
  const rules: Readonly<Record<string, boolean>> = {
    'BR-02': textAt(root, 'ExchangedDocument.ID') !== '',
    'BR-04': ['380', '381'].includes(textAt(root, 'ExchangedDocument.TypeCode')),
    'BR-06': textAt(seller, 'Name') !== '',
    'BR-07': textAt(buyer, 'Name') !== '',
    'BR-09': /^[A-Z]{2}$/.test(textAt(seller, 'PostalTradeAddress.CountryID')),
    'BR-11': /^[A-Z]{2}$/.test(textAt(buyer, 'PostalTradeAddress.CountryID')),
    'BR-16': lines.length > 0,
    'BR-25': lines.every((line) => textAt(line, 'SpecifiedTradeProduct.Name') !== ''),
    'BR-27': lines.every(
      (line) => cents(line, 'SpecifiedLineTradeAgreement.NetPriceProductTradePrice.ChargeAmount') >= 0,
    ),
    'BR-29 and BR-30': periods.every(([start = '', end = '']) => start <= end),
    'BR-55': !isCredit || textAt(header, 'InvoiceReferencedDocument.IssuerAssignedID') !== '',
    'BR-CO-04': lines.every((line) =>
      codes.includes(textAt(line, 'SpecifiedLineTradeSettlement.ApplicableTradeTax.CategoryCode')),
    ),
    'BR-CO-10':
      sum(
        lines.map((line) =>
          cents(line, 'SpecifiedLineTradeSettlement.SpecifiedTradeSettlementLineMonetarySummation.LineTotalAmount'),
        ),
      ) === cents(totals, 'LineTotalAmount'),
    'BR-CO-13': cents(totals, 'TaxBasisTotalAmount') === cents(totals, 'LineTotalAmount'),
    'BR-CO-14': sum(taxes.map((tax) => cents(tax, 'CalculatedAmount'))) === cents(totals, 'TaxTotalAmount'),
    'BR-CO-15':
      cents(totals, 'TaxBasisTotalAmount') + cents(totals, 'TaxTotalAmount') === cents(totals, 'GrandTotalAmount'),
    'BR-CO-16':
      cents(totals, 'GrandTotalAmount') - cents(totals, 'TotalPrepaidAmount') === cents(totals, 'DuePayableAmount'),
    'BR-CO-17': taxes.every(
      (tax) =>
        Math.abs(
          (cents(tax, 'BasisAmount') * Number(textAt(tax, 'RateApplicablePercent') || 0)) / 100 -
            cents(tax, 'CalculatedAmount'),
        ) < 100,
    ),
    'BR-CO-26': ids(seller, 'VA').length > 0 || textAt(seller, 'ID') !== '',
    'BR-S-02': !codes.includes('S') || ids(seller, 'VA').length > 0,
    'BR-AE-02': !codes.includes('AE') || (ids(seller, 'VA').length > 0 && ids(buyer, 'VA').length > 0),
    'BR-O-02': !codes.includes('O') || (ids(seller, 'VA').length === 0 && ids(buyer, 'VA').length === 0),
    'BR-O-10': !codes.includes('O') || taxes.every((tax) => textAt(tax, 'ExemptionReasonCode') !== ''),
    'BT-73 and BT-74': periods[0]?.every((day) => /^\d{8}$/.test(day)) === true,
    'BT-134 and BT-135': periods.slice(1).every((days) => days.every((day) => /^\d{8}$/.test(day))),
  }
  return Object.keys(rules).filter((rule) => rules[rule] !== true)
}

/** The first and the last day of service, as `20260131`. */
export function serviceDays(xml: string): readonly [string, string] {
  const path = 'CrossIndustryInvoice.SupplyChainTradeTransaction.ApplicableHeaderTradeSettlement.BillingSpecifiedPeriod'
  const period = at(parseDocument(xml, { xmlMode: true }), path)
  return [textAt(period, 'StartDateTime.DateTimeString'), textAt(period, 'EndDateTime.DateTimeString')]
}
