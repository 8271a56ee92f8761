type Headers = readonly (readonly [string, string])[]

/**
 * All headers of a reply as one text, the value of `X-Content-Type-Options` and the lines after it: a call into uWS costs
 * as much as the text of ten headers. Browsers must not sniff content types. Replies without a Cache-Control header are
 * not stored, because they may contain tokens and private data.
 *
 * The loops use an index, because they run for every reply and destructuring pairs from an iterator costs as much as
 * writing them.
 */
export function headText(headers: Headers, corsHeaders: Headers): string {
  let text = 'nosniff'
  let saysWhoStores = false
  for (let index = 0; index < headers.length; index += 1) {
    const header = headers[index] as readonly [string, string]
    text += `\r\n${header[0]}: ${header[1]}`
    saysWhoStores ||= header[0] === 'Cache-Control'
  }
  if (!saysWhoStores) text += '\r\nCache-Control: no-store'
  for (let index = 0; index < corsHeaders.length; index += 1) {
    const header = corsHeaders[index] as readonly [string, string]
    text += `\r\n${header[0]}: ${header[1]}`
  }
  return text
}
