import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import type { StreamBody } from '../../fetch/outgoing.ts'

/** A file in a multipart form. */
export interface FilePart {
  /** The name of the field. */
  readonly field: string
  readonly filename: string
  readonly type: string
  readonly body: StreamBody
}

/** A multipart/form-data body (RFC 7578) of known size, which streams its files. */
export function multipart(
  fields: Readonly<Record<string, string | undefined>>,
  files: readonly FilePart[],
): { readonly headers: Readonly<Record<string, string>>; readonly body: StreamBody } {
  const boundary = `crier-${randomBytes(16).toString('hex')}`
  const heads: { head: Buffer; file?: FilePart }[] = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [{ head: headOf(boundary, `name="${escaped(name)}"`, value) }],
  )
  for (const file of files) {
    const disposition = `name="${escaped(file.field)}"; filename="${escaped(file.filename)}"\r\nContent-Type: ${file.type}`
    heads.push({ head: headOf(boundary, disposition), file })
  }
  const end = Buffer.from(`--${boundary}--\r\n`)
  const size = heads.reduce((sum, { file, head }) => sum + head.length + (file ? file.body.size + 2 : 0), end.length)
  async function* chunks() {
    for (const { file, head } of heads) {
      yield head
      if (file === undefined) continue
      yield* file.body.stream as AsyncIterable<Buffer>
      yield Buffer.from('\r\n')
    }
    yield end
  }
  const stream = Readable.from(chunks())
  // Closing the form also closes the files that it has not read to the end.
  stream.once('close', () => {
    for (const { body } of files) body.stream.destroy()
  })
  return { headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` }, body: { stream, size } }
}

function headOf(boundary: string, disposition: string, value?: string): Buffer {
  const head = `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`
  return Buffer.from(value === undefined ? head : `${head}${value}\r\n`)
}

/** Browsers escape the same three characters (HTML, multipart/form-data encoding). */
function escaped(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
