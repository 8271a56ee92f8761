import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { SendOptions } from '../../support/send.ts'

/** A request as bytes, which one process can send to another. */
export interface RawRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** In base64. */
  readonly body: string
}

export interface Sent {
  /** How many replies had each status; `none` without a reply. */
  readonly statuses: Readonly<Record<string, number>>
  /** The longest wait for a reply. */
  readonly maxMs: number
}

type Order =
  | { readonly load: RawRequest }
  /** Sends `atOnce` requests at once, and again when all have replies, until the time is over. */
  | { readonly atOnce: number; readonly seconds: number }

/** Makes the bytes of a request. @param route such as `GET /api/streams/{id}` */
export async function rawRequest(url: string, route: string, send: SendOptions): Promise<RawRequest> {
  const [method = 'GET', pattern = '/'] = route.split(' ')
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(send.path?.[name] ?? 'x'))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(send.query ?? {})) query.append(name, String(value))
  const search = query.toString()
  const { body, file } = send
  const form = file && formOf(body as Readonly<Record<string, unknown>> | undefined, file)
  const encoded = form && new Response(form)
  const bytes = encoded
    ? Buffer.from(await encoded.arrayBuffer())
    : body === undefined
      ? Buffer.alloc(0)
      : Buffer.from(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body))
  const type = encoded?.headers.get('content-type') ?? (body === undefined ? undefined : 'application/json')
  return {
    url: `${url}${path}${search === '' ? '' : `?${search}`}`,
    method,
    headers: {
      ...(type === undefined ? {} : { 'Content-Type': type }),
      ...(method === 'GET' ? {} : { 'Content-Length': String(bytes.length) }),
      ...(send.apiKey === undefined ? {} : { 'X-API-Key': send.apiKey }),
      ...(send.token === undefined ? {} : { Authorization: `Bearer ${send.token}` }),
      ...send.headers,
    },
    body: bytes.toString('base64'),
  }
}

function formOf(fields: Readonly<Record<string, unknown>> = {}, file: NonNullable<SendOptions['file']>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  form.append('file', new Blob([file.content], { type: file.type ?? 'application/octet-stream' }), file.name)
  return form
}

/** Sends heavy requests from a separate process, so that its work does not count as the server's. */
export class HeavySender {
  readonly #child: ChildProcess

  constructor() {
    // In a process group of its own, so that it does not get the signal that interrupts the soak.
    this.#child = fork(fileURLToPath(import.meta.url), ['send'], { detached: true })
  }

  async load(request: RawRequest): Promise<void> {
    await this.#order({ load: request })
  }

  /** Sends the loaded request `atOnce` times at once, and again until `seconds` have passed. 0 sends once. */
  burst(atOnce: number, seconds: number): Promise<Sent> {
    return this.#order({ atOnce, seconds })
  }

  async #order(order: Order): Promise<Sent> {
    const answered = once(this.#child, 'message')
    this.#child.send(order)
    const [sent] = (await answered) as [Sent]
    return sent
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.kill()
    await ended
  }
}

const TIMEOUT_MS = 60_000

function run(): void {
  const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 4_000 })
  let loaded: { readonly request: RawRequest; readonly body: Buffer } | undefined

  const sendOne = () =>
    new Promise<string>((resolve) => {
      const { body, request } = loaded!
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const { headers, method, url } = request
      const sent = httpRequest(url, { method, headers, agent, signal }, (response) => {
        response.once('error', () => resolve('none'))
        response.resume().once('end', () => resolve(String(response.statusCode)))
      })
      sent.once('error', () => resolve('none'))
      sent.end(body)
    })

  const burst = async (atOnce: number, seconds: number): Promise<Sent> => {
    const until = performance.now() + seconds * 1_000
    const statuses: Record<string, number> = {}
    let maxMs = 0
    do {
      const one = async () => {
        const began = performance.now()
        const status = await sendOne()
        statuses[status] = (statuses[status] ?? 0) + 1
        maxMs = Math.max(maxMs, performance.now() - began)
      }
      await Promise.all(Array.from({ length: atOnce }, one))
    } while (performance.now() < until)
    return { statuses, maxMs }
  }

  process.on('message', (order: Order) => {
    if ('load' in order) {
      loaded = { request: order.load, body: Buffer.from(order.load.body, 'base64') }
      process.send?.({ statuses: {}, maxMs: 0 })
      return
    }
    void burst(order.atOnce, order.seconds).then((sent) => process.send?.(sent))
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) run()
