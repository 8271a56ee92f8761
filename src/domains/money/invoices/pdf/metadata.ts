import { element, xmlOf, type XmlElement } from '../../../../tools/xml.ts'

/** The metadata that makes a PDF with an invoice as XML a Factur-X document (Factur-X 1.0, section 5.4). */

const NAMESPACE = 'urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#'

const FIELDS = {
  DocumentFileName: ['factur-x.xml', 'The name of the embedded XML document'],
  DocumentType: ['INVOICE', 'The type of the hybrid document'],
  Version: ['1.0', 'The version of the standard that the XML document follows'],
  ConformanceLevel: ['EN 16931', 'The conformance level of the XML document'],
} as const

/** An item of a list that is a resource itself. */
const item = (...children: readonly XmlElement[]) => element('rdf:li', { 'rdf:parseType': 'Resource' }, ...children)

/** Describes the fields, as PDF/A requires for metadata that it does not know. */
const SCHEMA = xmlOf(
  item(
    element('pdfaSchema:schema', {}, 'Factur-X PDFA Extension Schema'),
    element('pdfaSchema:namespaceURI', {}, NAMESPACE),
    element('pdfaSchema:prefix', {}, 'fx'),
    element(
      'pdfaSchema:property',
      {},
      element(
        'rdf:Seq',
        {},
        ...Object.entries(FIELDS).map(([name, [, description]]) =>
          item(
            element('pdfaProperty:category', {}, 'external'),
            element('pdfaProperty:description', {}, description),
            element('pdfaProperty:name', {}, name),
            element('pdfaProperty:valueType', {}, 'Text'),
          ),
        ),
      ),
    ),
  ),
)

const VALUES = xmlOf(
  element(
    'rdf:Description',
    { 'rdf:about': '', 'xmlns:fx': NAMESPACE },
    ...Object.entries(FIELDS).map(([name, [value]]) => element(`fx:${name}`, {}, value)),
  ),
)

/**
 * Adds the metadata of Factur-X by an incremental update: a new version of the metadata object, a cross-reference table
 * with it, and a trailer that points to the old one.
 * @param pdf PDF/A with a plain cross-reference table, as typst writes it
 * @throws Error for other files
 */
export function withFacturX(pdf: Buffer): Buffer {
  const file = pdf.toString('latin1')
  const found = /\n(\d+) 0 obj\n<<[^>]*\/Type \/Metadata\s[^>]*>>\nstream\n([\s\S]*?)\nendstream/.exec(file)
  const trailer = /trailer\n<<\n([\s\S]*?)>>\nstartxref\n(\d+)\n%%EOF/.exec(file)
  if (found?.[1] === undefined || found[2] === undefined || trailer?.[1] === undefined) {
    throw new Error('the metadata of the PDF were not found')
  }
  const xmp = Buffer.from(found[2], 'latin1').toString()
  const changed = xmp.replace('<pdfaExtension:schemas><rdf:Bag>', `$&${SCHEMA}`).replace('</rdf:RDF>', `${VALUES}$&`)
  if (changed.length !== xmp.length + SCHEMA.length + VALUES.length)
    throw new Error('the metadata of the PDF are unknown')
  const stream = Buffer.from(changed)
  const start = pdf.at(-1) === 0x0a ? '' : '\n'
  const object = Buffer.concat([
    Buffer.from(`${found[1]} 0 obj\n<<\n/Length ${stream.length}\n/Type /Metadata\n/Subtype /XML\n>>\nstream\n`),
    stream,
    Buffer.from('\nendstream\nendobj\n'),
  ])
  const at = pdf.length + start.length
  const table = at + object.length
  const end =
    `xref\n${found[1]} 1\n${String(at).padStart(10, '0')} 00000 n \n` +
    `trailer\n<<\n${trailer[1].trimEnd()}\n/Prev ${trailer[2]}\n>>\nstartxref\n${table}\n%%EOF\n`
  return Buffer.concat([pdf, Buffer.from(start), object, Buffer.from(end)])
}
