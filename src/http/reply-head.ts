type Headers = readonly (readonly [string, string])[]

/**
 * The value of X-Content-Type-Options with all other headers as further lines, for one call into uWS: a call costs as
 * much as the text of ten. The loops use an index, because they run for every reply and destructuring pairs from an
 * iterator costs as much as writing them. Browsers must not sniff content types. Replies without a Cache-Control header
 * are not stored, because they may contain tokens and private data.
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

/** Replies that must not have a Content-Length (RFC 9110, 8.6): a 304 would state that of the body it does not send. */
export const isWithoutLength = (status: number): boolean => status === 204 || status === 304
