import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'

/** Sends requests over HTTP. Uses no code of the server. */

export interface SendOptions {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  /** Sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown
  /** Sent as the part `file` of a multipart body, after the fields of `body`. */
  readonly file?: { readonly name: string; readonly content: Uint8Array<ArrayBuffer>; readonly type?: string }
  readonly headers?: Readonly<Record<string, string>>
  /** An API key. */
  readonly apiKey?: string | undefined
  /** An access token. */
  readonly token?: string | undefined
  readonly signal?: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** The parsed JSON, or the text when it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  readonly body: any
  readonly text: string
}

/** Sends a request. @param route such as `GET /api/streams/{id}`, with the parameters in `path` */
export async function send(url: string, route: string, options: SendOptions = {}): Promise<Reply> {
  const [method = 'GET', pattern = '/'] = route.split(' ')
  const path = pattern.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const value = options.path?.[name]
    if (value === undefined) throw new Error(`${route} needs path.${name}`)
    return encodeURIComponent(value)
  })
  const target = url + path + queryText(options.query)
  const headers = {
    ...(options.body === undefined || options.file ? {} : { 'Content-Type': 'application/json' }),
    ...(options.apiKey === undefined ? {} : { 'X-API-Key': options.apiKey }),
    ...(options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` }),
    ...options.headers,
  }
  const { body, file, signal } = options
  if (file)
    return sendForm(target, method, headers, multipart(body as Record<string, unknown> | undefined, file), signal)
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  return request(target, method, headers, isRaw ? body : body === undefined ? undefined : JSON.stringify(body), signal)
}

/** Closes idle connections before the server does after 10 s, so that no request uses one that is closing. */
const agent = new Agent({ keepAlive: true, timeout: 4_000 })

/** By `node:http`: with `fetch`, the access matrix takes a quarter more processor time. */
async function request(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array | undefined,
  signal: AbortSignal | undefined,
): Promise<Reply> {
  // Node sends no length for a body of DELETE.
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
  const sent = httpRequest(url, {
    method,
    headers: { Accept: '*/*', ...length, ...headers },
    agent,
    ...(signal && { signal }),
  })
  const arrived = new Promise<IncomingMessage>((resolve, reject) => sent.once('response', resolve).on('error', reject))
  sent.end(body)
  const response = await arrived
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const isPacked = response.headers['content-encoding'] === 'gzip' && bytes.length > 0
  const text = new TextDecoder().decode(isPacked ? gunzipSync(bytes) : bytes)
  return replyOf(response.statusCode ?? 0, text, response.headers['content-type'], () => headersOf(response))
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '')
  return headers
}

function replyOf(status: number, text: string, type: string | null | undefined, readHeaders: () => Headers): Reply {
  const body: unknown = text !== '' && /[/+]json/.test(type ?? '') ? JSON.parse(text) : text
  let read: Headers | undefined
  return {
    status,
    get headers() {
      return (read ??= readHeaders())
    },
    body,
    text,
  }
}

async function sendForm(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: FormData,
  signal: AbortSignal | undefined,
): Promise<Reply> {
  const response = await fetch(url, { method, redirect: 'manual', headers, body, ...(signal && { signal }) })
  return replyOf(response.status, await response.text(), response.headers.get('content-type'), () => response.headers)
}

function multipart(fields: Record<string, unknown> = {}, file: NonNullable<SendOptions['file']>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    for (const item of Array.isArray(value) ? value : [value]) form.append(name, String(item))
  }
  form.append('file', new Blob([file.content], { type: file.type ?? 'application/octet-stream' }), file.name)
  return form
}

function queryText(query: Readonly<Record<string, unknown>> = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const item of Array.isArray(value) ? value : [value]) parameters.append(name, String(item))
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}
