/** A field or file of a multipart form that a fake received. */
export interface ReceivedPart {
  readonly name: string
  readonly filename: string | null
  readonly type: string | null
  readonly bytes: Buffer
}

/** Reads a multipart/form-data body (RFC 7578). A body of another form has no parts. */
export function partsOf(contentType: string | undefined, body: Buffer): readonly ReceivedPart[] {
  const [, boundary] = /^multipart\/form-data;.*boundary="?([^";]+)"?/i.exec(contentType ?? '') ?? []
  if (boundary === undefined) return []
  const parts: ReceivedPart[] = []
  const mark = Buffer.from(`--${boundary}`)
  let at = body.indexOf(mark)
  while (at !== -1) {
    const start = at + mark.length + 2
    const next = body.indexOf(mark, start)
    if (next === -1) break
    const part = body.subarray(start, next - 2)
    const split = part.indexOf('\r\n\r\n')
    const head = part.subarray(0, split).toString('utf8')
    const name = /[\s;]name="([^"]*)"/i.exec(head)?.[1]
    if (split !== -1 && name !== undefined) {
      parts.push({
        name,
        filename: filenameOf(head),
        type: /^content-type: *(.+)$/im.exec(head)?.[1]?.trim() ?? null,
        bytes: part.subarray(split + 4),
      })
    }
    at = next
  }
  return parts
}

/** Most clients quote the name, as RFC 7578 asks for. Some do not. */
function filenameOf(head: string): string | null {
  const [, quoted, bare] = /[\s;]filename=(?:"([^"]*)"|([^;\r\n]*))/i.exec(head) ?? []
  return quoted ?? bare ?? null
}
