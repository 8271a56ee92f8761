import type { Party } from '../content.ts'
import type { InvoiceRow } from '../invoices.ts'
import { decimalOf } from '../money-format.ts'
import { lineText } from './view.ts'
import type { DocumentLanguage } from '../language.ts'
import { lastDay, periodOf, wholePeriod, type ServicePeriod } from '../service-period.ts'
import type { Tax, TaxTreatment } from '../tax/tax.ts'

/** The codes of EN 16931 for how a sale is taxed (UNCL 5305), with the reason where no tax is charged. */
const CATEGORIES: Readonly<Record<TaxTreatment, { code: string; reason?: string; reasonCode?: string }>> = {
  standard: { code: 'S' },
  reverse_charge: { code: 'AE', reason: 'Reverse charge', reasonCode: 'VATEX-EU-AE' },
  outside: { code: 'O', reason: 'Not subject to VAT', reasonCode: 'VATEX-EU-O' },
}

/**
 * An invoice or credit note as XML: UN/CEFACT Cross Industry Invoice D16B, in the profile EN 16931 of Factur-X 1.0.
 * @param number the number of the document, such as `INV-000042`
 * @param language of the names of the lines
 */
export function invoiceXml(row: InvoiceRow, number: string, language: DocumentLanguage): string {
  const { content, createdAt, currency, kind, net, tax, total } = row
  const { buyer, credits, lines, seller } = content
  const whole = wholePeriod(lines)
  const money = (amount: number) => decimalOf(amount, currency)
  const taxes: readonly TaxPart[] = content.taxes.length === 0 ? [{ ...NO_TAX, net }] : content.taxes
  const [first] = taxes
  const isOutside = first?.treatment === 'outside'
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    element(
      `rsm:CrossIndustryInvoice ${NAMESPACES}`,
      element(
        'rsm:ExchangedDocumentContext',
        element('ram:GuidelineSpecifiedDocumentContextParameter', element('ram:ID', 'urn:cen.eu:en16931:2017')),
      ),
      element(
        'rsm:ExchangedDocument',
        element('ram:ID', text(number)),
        element('ram:TypeCode', kind === 'credit_note' ? '381' : '380'),
        element('ram:IssueDateTime', day('udt', createdAt)),
        ...(credits === undefined ? [] : [element('ram:IncludedNote', element('ram:Content', text(credits.reason)))]),
      ),
      element(
        'rsm:SupplyChainTradeTransaction',
        ...lines.map((line, index) => {
          const { amount } = line
          const linePeriod = periodOf(line)
          return element(
            'ram:IncludedSupplyChainTradeLineItem',
            element('ram:AssociatedDocumentLineDocument', element('ram:LineID', String(index + 1))),
            element('ram:SpecifiedTradeProduct', element('ram:Name', text(lineText(line, language)))),
            // A price is never negative, so the quantity is.
            element(
              'ram:SpecifiedLineTradeAgreement',
              element('ram:NetPriceProductTradePrice', element('ram:ChargeAmount', money(Math.abs(amount)))),
            ),
            element(
              'ram:SpecifiedLineTradeDelivery',
              element('ram:BilledQuantity unitCode="C62"', amount < 0 ? '-1' : '1'),
            ),
            element(
              'ram:SpecifiedLineTradeSettlement',
              ...taxes.slice(0, 1).map((part) => taxElement('ram:ApplicableTradeTax', part)),
              ...(linePeriod === undefined ? [] : [period(linePeriod)]),
              element(
                'ram:SpecifiedTradeSettlementLineMonetarySummation',
                element('ram:LineTotalAmount', money(amount)),
              ),
            ),
          )
        }),
        element(
          'ram:ApplicableHeaderTradeAgreement',
          party('ram:SellerTradeParty', seller, {
            isSeller: true,
            taxNumber: seller.taxNumber,
            hidesVatNumber: isOutside,
          }),
          party('ram:BuyerTradeParty', buyer, { isSeller: false, taxNumber: null, hidesVatNumber: isOutside }),
        ),
        element(
          'ram:ApplicableHeaderTradeDelivery',
          element('ram:ActualDeliverySupplyChainEvent', element('ram:OccurrenceDateTime', day('udt', createdAt))),
        ),
        element(
          'ram:ApplicableHeaderTradeSettlement',
          element('ram:InvoiceCurrencyCode', currency),
          ...taxes.map((part) => taxElement('ram:ApplicableTradeTax', part, money)),
          ...(whole === undefined ? [] : [period(whole)]),
          element(
            'ram:SpecifiedTradeSettlementHeaderMonetarySummation',
            element('ram:LineTotalAmount', money(net)),
            element('ram:TaxBasisTotalAmount', money(net)),
            element(`ram:TaxTotalAmount currencyID="${currency}"`, money(tax)),
            element('ram:GrandTotalAmount', money(total)),
            element('ram:TotalPrepaidAmount', money(total)),
            element('ram:DuePayableAmount', money(0)),
          ),
          ...(credits === undefined
            ? []
            : [
                element(
                  'ram:InvoiceReferencedDocument',
                  element('ram:IssuerAssignedID', text(credits.number)),
                  element('ram:FormattedIssueDateTime', day('qdt', credits.createdAt)),
                ),
              ]),
        ),
      ),
    ),
    '',
  ].join('\n')
}

type TaxPart = Pick<Tax, 'treatment' | 'basisPoints' | 'net' | 'amount'>

const NO_TAX = { treatment: 'outside', basisPoints: 0, amount: 0 } as const

const NAMESPACES = [
  'xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"',
  'xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"',
  'xmlns:qdt="urn:un:unece:uncefact:data:standard:QualifiedDataType:100"',
  'xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100"',
].join(' ')

function element(name: string, ...content: readonly string[]): string {
  return `<${name}>${content.join('')}</${name.split(' ', 1)[0]}>`
}

/** Text in XML. Characters that XML cannot contain are left out. */
function text(value: string): string {
  return value
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}

function day(prefix: 'udt' | 'qdt', at: string): string {
  return element(`${prefix}:DateTimeString format="102"`, at.slice(0, 10).replaceAll('-', ''))
}

/** The period of a line (BT-134, BT-135), or of the whole document (BT-73, BT-74). */
function period(of: ServicePeriod): string {
  return element(
    'ram:BillingSpecifiedPeriod',
    element('ram:StartDateTime', day('udt', of.from)),
    element('ram:EndDateTime', day('udt', lastDay(of))),
  )
}

/** @param money writes the amounts of the tax; a line has none */
function taxElement(name: string, part: TaxPart, money?: (amount: number) => string): string {
  const { code, reason, reasonCode } = CATEGORIES[part.treatment]
  return element(
    name,
    ...(money === undefined ? [] : [element('ram:CalculatedAmount', money(part.amount))]),
    element('ram:TypeCode', 'VAT'),
    ...(money === undefined || reason === undefined ? [] : [element('ram:ExemptionReason', reason)]),
    ...(money === undefined ? [] : [element('ram:BasisAmount', money(part.net))]),
    element('ram:CategoryCode', code),
    ...(money === undefined || reasonCode === undefined ? [] : [element('ram:ExemptionReasonCode', reasonCode)]),
    ...(code === 'O' ? [] : [element('ram:RateApplicablePercent', String(part.basisPoints / 100))]),
  )
}

interface PartyRules {
  readonly isSeller: boolean
  readonly taxNumber: string | null
  readonly hidesVatNumber: boolean
}

/** A sale that is not subject to VAT names no VAT numbers (rules BR-O-02 to BR-O-04 of EN 16931). */
function party(
  name: string,
  { city, country, name: of, postalCode, street, vatNumber, email }: Party,
  { hidesVatNumber, isSeller, taxNumber }: PartyRules,
): string {
  const optional = (tag: string, value: string | null) =>
    value === null || value === '' ? [] : [element(tag, text(value))]
  const registered = (scheme: string, value: string | null) =>
    value === null || value === ''
      ? []
      : [element('ram:SpecifiedTaxRegistration', element(`ram:ID schemeID="${scheme}"`, text(value)))]
  return element(
    name,
    // Without a VAT number, the seller needs an identifier of another kind (BR-CO-26).
    ...optional('ram:ID', hidesVatNumber && isSeller ? (taxNumber ?? vatNumber) : null),
    element('ram:Name', text(of)),
    element(
      'ram:PostalTradeAddress',
      ...optional('ram:PostcodeCode', postalCode),
      ...optional('ram:LineOne', street),
      ...optional('ram:CityName', city),
      ...optional('ram:CountryID', country),
    ),
    ...(email === null
      ? []
      : [element('ram:URIUniversalCommunication', element('ram:URIID schemeID="EM"', text(email)))]),
    ...registered('FC', taxNumber),
    ...registered('VA', hidesVatNumber ? null : vatNumber),
  )
}
