/** File transfer for the client. It only needs `fetch`, so that it runs in browsers too. */

interface Outgoing {
  readonly body?: unknown
  readonly file?: Blob
  readonly content?: Blob
  readonly onProgress?: (done: number, total: number | undefined) => void
}

/**
 * The body of a request: JSON, or a file. `content` is sent unchanged, `file` as the last part of a multipart body
 * after the fields. A file is read while it is sent.
 * @param touched called with every chunk that is sent
 */
export function bodyOf(
  request: Outgoing,
  touched: () => void,
): { body?: NonNullable<RequestInit['body']>; type?: string } {
  const file = request.content ?? request.file
  if (file === undefined) {
    return request.body === undefined ? {} : { body: JSON.stringify(request.body), type: 'application/json' }
  }
  const counted = countedFile(file, (done) => {
    touched()
    request.onProgress?.(done, file.size)
  })
  if (request.content !== undefined) {
    return { body: counted, type: file.type === '' ? 'application/octet-stream' : file.type }
  }
  const form = new FormData()
  for (const [name, value] of Object.entries((request.body ?? {}) as Record<string, unknown>)) {
    for (const item of Array.isArray(value) ? value : [value]) if (item !== undefined) form.append(name, String(item))
  }
  form.append('file', counted)
  return { body: form }
}

/** Browsers read the file themselves and report no progress. In Node, the object's stream is used. */
function countedFile(file: Blob, onBytes: (done: number) => void): File {
  const name = file instanceof File ? file.name : 'file'
  const counted = new File([file], name, { type: file.type })
  const stream = () => {
    let done = 0
    return file.stream().pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          done += chunk.byteLength
          onBytes(done)
          controller.enqueue(chunk)
        },
      }),
    )
  }
  return Object.defineProperty(counted, 'stream', { value: stream })
}

/** A timeout that restarts with every activity. */
export class Patience {
  readonly signal: AbortSignal
  readonly #controller = new AbortController()
  readonly #ms: number
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(ms: number, outer: AbortSignal | undefined) {
    this.#ms = ms
    this.signal = outer ? AbortSignal.any([outer, this.#controller.signal]) : this.#controller.signal
    this.touch()
  }

  get isOver(): boolean {
    return this.#controller.signal.aborted
  }

  readonly touch = (): void => {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(), this.#ms)
  }

  readonly end = (): void => {
    clearTimeout(this.#timer)
  }
}

/** A body that reports its progress while it is read. */
export function watched(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { onBytes, onEnd }: { readonly onBytes: (done: number) => void; readonly onEnd: () => void },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let done = 0
  return body.pipeThrough(
    new TransformStream({
      transform(chunk: Uint8Array<ArrayBuffer>, controller) {
        done += chunk.byteLength
        onBytes(done)
        controller.enqueue(chunk)
      },
      flush: onEnd,
    }),
  )
}

/**
 * Follows a redirect to a file. The credential is not sent, because it belongs to the API server and the URL has its
 * own signature.
 */
export async function followed(response: Response, sent: Headers, signal: AbortSignal): Promise<Response> {
  const location = response.headers.get('location')
  if (response.status < 301 || response.status > 308 || response.status === 304 || location === null) return response
  const range = sent.get('range')
  return fetch(new URL(location, response.url), { signal, headers: range === null ? {} : { Range: range } })
}
