import { element, xmlDocument, type XmlElement } from '../../../../tools/xml.ts'
import type { Party } from '../content.ts'
import type { InvoiceRow } from '../invoices.ts'
import { decimalOf } from '../money-format.ts'
import type { DocumentLanguage } from '../language.ts'
import { lineText } from '../line-text.ts'
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
  return xmlDocument(
    element(
      'rsm:CrossIndustryInvoice',
      NAMESPACES,
      group(
        'rsm:ExchangedDocumentContext',
        group('ram:GuidelineSpecifiedDocumentContextParameter', text('ram:ID', 'urn:cen.eu:en16931:2017')),
      ),
      group(
        'rsm:ExchangedDocument',
        text('ram:ID', number),
        text('ram:TypeCode', kind === 'credit_note' ? '381' : '380'),
        group('ram:IssueDateTime', day('udt', createdAt)),
        ...(credits === undefined ? [] : [group('ram:IncludedNote', text('ram:Content', credits.reason))]),
      ),
      group(
        'rsm:SupplyChainTradeTransaction',
        ...lines.map((line, index) => {
          const { amount } = line
          const linePeriod = periodOf(line)
          return group(
            'ram:IncludedSupplyChainTradeLineItem',
            group('ram:AssociatedDocumentLineDocument', text('ram:LineID', String(index + 1))),
            group('ram:SpecifiedTradeProduct', text('ram:Name', lineText(line, language))),
            // A price is never negative, so the quantity is.
            group(
              'ram:SpecifiedLineTradeAgreement',
              group('ram:NetPriceProductTradePrice', text('ram:ChargeAmount', money(Math.abs(amount)))),
            ),
            group(
              'ram:SpecifiedLineTradeDelivery',
              element('ram:BilledQuantity', { unitCode: 'C62' }, amount < 0 ? '-1' : '1'),
            ),
            group(
              'ram:SpecifiedLineTradeSettlement',
              ...taxes.slice(0, 1).map((part) => taxElement('ram:ApplicableTradeTax', part)),
              ...(linePeriod === undefined ? [] : [period(linePeriod)]),
              group('ram:SpecifiedTradeSettlementLineMonetarySummation', text('ram:LineTotalAmount', money(amount))),
            ),
          )
        }),
        group(
          'ram:ApplicableHeaderTradeAgreement',
          party('ram:SellerTradeParty', seller, {
            isSeller: true,
            taxNumber: seller.taxNumber,
            hidesVatNumber: isOutside,
          }),
          party('ram:BuyerTradeParty', buyer, { isSeller: false, taxNumber: null, hidesVatNumber: isOutside }),
        ),
        group(
          'ram:ApplicableHeaderTradeDelivery',
          group('ram:ActualDeliverySupplyChainEvent', group('ram:OccurrenceDateTime', day('udt', createdAt))),
        ),
        group(
          'ram:ApplicableHeaderTradeSettlement',
          text('ram:InvoiceCurrencyCode', currency),
          ...taxes.map((part) => taxElement('ram:ApplicableTradeTax', part, money)),
          ...(whole === undefined ? [] : [period(whole)]),
          group(
            'ram:SpecifiedTradeSettlementHeaderMonetarySummation',
            text('ram:LineTotalAmount', money(net)),
            text('ram:TaxBasisTotalAmount', money(net)),
            element('ram:TaxTotalAmount', { currencyID: currency }, money(tax)),
            text('ram:GrandTotalAmount', money(total)),
            text('ram:TotalPrepaidAmount', money(total)),
            text('ram:DuePayableAmount', money(0)),
          ),
          ...(credits === undefined
            ? []
            : [
                group(
                  'ram:InvoiceReferencedDocument',
                  text('ram:IssuerAssignedID', credits.number),
                  group('ram:FormattedIssueDateTime', day('qdt', credits.createdAt)),
                ),
              ]),
        ),
      ),
    ),
  )
}

type TaxPart = Pick<Tax, 'treatment' | 'basisPoints' | 'net' | 'amount'>

const NO_TAX = { treatment: 'outside', basisPoints: 0, amount: 0 } as const

const NAMESPACES = {
  'xmlns:rsm': 'urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100',
  'xmlns:ram': 'urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100',
  'xmlns:qdt': 'urn:un:unece:uncefact:data:standard:QualifiedDataType:100',
  'xmlns:udt': 'urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100',
}

const group = (name: string, ...children: readonly XmlElement[]) => element(name, {}, ...children)
const text = (name: string, value: string) => element(name, {}, value)

function day(prefix: 'udt' | 'qdt', at: string): XmlElement {
  return element(`${prefix}:DateTimeString`, { format: '102' }, at.slice(0, 10).replaceAll('-', ''))
}

/** The period of a line (BT-134, BT-135), or of the whole document (BT-73, BT-74). */
function period(of: ServicePeriod): XmlElement {
  return group(
    'ram:BillingSpecifiedPeriod',
    group('ram:StartDateTime', day('udt', of.from)),
    group('ram:EndDateTime', day('udt', lastDay(of))),
  )
}

/** @param money writes the amounts of the tax; a line has none */
function taxElement(name: string, part: TaxPart, money?: (amount: number) => string): XmlElement {
  const { code, reason, reasonCode } = CATEGORIES[part.treatment]
  return group(
    name,
    ...(money === undefined ? [] : [text('ram:CalculatedAmount', money(part.amount))]),
    text('ram:TypeCode', 'VAT'),
    ...(money === undefined || reason === undefined ? [] : [text('ram:ExemptionReason', reason)]),
    ...(money === undefined ? [] : [text('ram:BasisAmount', money(part.net))]),
    text('ram:CategoryCode', code),
    ...(money === undefined || reasonCode === undefined ? [] : [text('ram:ExemptionReasonCode', reasonCode)]),
    ...(code === 'O' ? [] : [text('ram:RateApplicablePercent', String(part.basisPoints / 100))]),
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
): XmlElement {
  const optional = (tag: string, value: string | null) => (value === null || value === '' ? [] : [text(tag, value)])
  const registered = (schemeID: string, value: string | null) =>
    value === null || value === ''
      ? []
      : [group('ram:SpecifiedTaxRegistration', element('ram:ID', { schemeID }, value))]
  return group(
    name,
    // Without a VAT number, the seller needs an identifier of another kind (BR-CO-26).
    ...optional('ram:ID', hidesVatNumber && isSeller ? (taxNumber ?? vatNumber) : null),
    text('ram:Name', of),
    group(
      'ram:PostalTradeAddress',
      ...optional('ram:PostcodeCode', postalCode),
      ...optional('ram:LineOne', street),
      ...optional('ram:CityName', city),
      ...optional('ram:CountryID', country),
    ),
    ...(email === null
      ? []
      : [group('ram:URIUniversalCommunication', element('ram:URIID', { schemeID: 'EM' }, email))]),
    ...registered('FC', taxNumber),
    ...registered('VA', hidesVatNumber ? null : vatNumber),
  )
}
