type Headers = readonly (readonly [string, string])[]

/**
 * Reply headers as text, each after a line break. The loops use an index, because this runs for every reply and
 * destructuring pairs from an iterator costs as much as writing them. Replies without a Cache-Control header are not
 * stored, because they may contain tokens and private data.
 */
export function textOf(headers: Headers, corsHeaders: Headers): string {
  let text = ''
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
