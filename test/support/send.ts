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
  const form = options.file && multipart(options.body as Record<string, unknown> | undefined, options.file)
  const raw = typeof options.body === 'string' || options.body instanceof Uint8Array
  const response = await fetch(url + path + queryText(options.query), {
    method,
    redirect: 'manual',
    headers: {
      ...(options.body === undefined || form ? {} : { 'Content-Type': 'application/json' }),
      ...(options.apiKey === undefined ? {} : { 'X-API-Key': options.apiKey }),
      ...(options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    ...(form && { body: form }),
    ...(options.body === undefined || form
      ? {}
      : { body: (raw ? options.body : JSON.stringify(options.body)) as NonNullable<RequestInit['body']> }),
    ...(options.signal ? { signal: options.signal } : {}),
  })
  const text = await response.text()
  const isJson = text !== '' && /[/+]json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? (JSON.parse(text) as unknown) : text,
    text,
  }
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
