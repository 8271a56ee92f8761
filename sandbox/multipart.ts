/** A field or file of a multipart form that a fake received. */
export interface ReceivedPart {
  readonly name: string
  readonly filename: string | null
  readonly type: string | null
  readonly bytes: Buffer
}

/** Reads a multipart/form-data body (RFC 7578). A body of another form has no parts. */
export function partsOf(contentType: string | undefined, body: Buffer): readonly ReceivedPart[] {
  if (!/^multipart\/form-data/i.test(contentType ?? '')) return []
  return sectionsOf(contentType, body).flatMap(({ bytes, head }) => {
    const name = /[\s;]name="([^"]*)"/i.exec(head)?.[1]
    const type = /^content-type: *(.+)$/im.exec(head)?.[1]?.trim() ?? null
    return name === undefined ? [] : [{ name, filename: filenameOf(head), type, bytes }]
  })
}

/** Reads a multipart/related body (RFC 2387): its parts have types and no names. */
export function relatedPartsOf(contentType: string | undefined, body: Buffer): readonly Omit<ReceivedPart, 'name'>[] {
  if (!/^multipart\/related/i.test(contentType ?? '')) return []
  return sectionsOf(contentType, body).map(({ bytes, head }) => ({
    filename: null,
    type: /^content-type: *(.+)$/im.exec(head)?.[1]?.trim() ?? null,
    bytes,
  }))
}

/** Most clients quote the name, as RFC 7578 asks for. Some do not. */
function filenameOf(head: string): string | null {
  const [, quoted, bare] = /[\s;]filename=(?:"([^"]*)"|([^;\r\n]*))/i.exec(head) ?? []
  return quoted ?? bare ?? null
}

/** The parts of a body between its boundaries (RFC 2046, 5.1.1). */
function sectionsOf(
  contentType: string | undefined,
  body: Buffer,
): { readonly head: string; readonly bytes: Buffer }[] {
  const [, boundary] = /;.*boundary="?([^";]+)"?/i.exec(contentType ?? '') ?? []
  if (boundary === undefined) return []
  const sections: { head: string; bytes: Buffer }[] = []
  const mark = Buffer.from(`--${boundary}`)
  let at = body.indexOf(mark)
  while (at !== -1) {
    const start = at + mark.length + 2
    const next = body.indexOf(mark, start)
    if (next === -1) break
    const part = body.subarray(start, next - 2)
    const split = part.indexOf('\r\n\r\n')
    if (split !== -1) sections.push({ head: part.subarray(0, split).toString('utf8'), bytes: part.subarray(split + 4) })
    at = next
  }
  return sections
}
