import Builder from 'fast-xml-builder'
import { cleanText } from './clean-text.ts'

/** An element of XML, in the form of the library. Made by `element`. */
export type XmlElement = Readonly<Record<string, unknown>>

type Attributes = Readonly<Record<string, string>>
type Child = XmlElement | string

const builder = new Builder({ preserveOrder: true, ignoreAttributes: false, suppressBooleanAttributes: false })

const ATTRIBUTE = '@_'

/**
 * An element. Texts are escaped when it is written, and characters that XML 1.0 cannot contain are left out.
 * @param name may have a prefix, which an attribute `xmlns:…` of it or of an element around it declares
 */
export function element(name: string, attributes: Attributes, ...children: readonly Child[]): XmlElement {
  const entries = Object.entries(attributes)
  return {
    [name]: children.map((child) => (typeof child === 'string' ? { '#text': cleanText(child) } : child)),
    ...(entries.length > 0 && {
      ':@': Object.fromEntries(entries.map(([key, value]) => [ATTRIBUTE + key, cleanText(value)])),
    }),
  }
}

/** Elements as text, one after the other. */
export function xmlOf(...elements: readonly XmlElement[]): string {
  return builder.build(elements)
}

/** A document with this root, in UTF-8. */
export function xmlDocument(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${xmlOf(root)}\n`
}
