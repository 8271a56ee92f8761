import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { fileURLToPath } from 'node:url'
import { walk, type NamedOperation } from '../../../src/core/operation.ts'
import type { SendOptions } from '../../support/send.ts'
import { accepted, refused, type Candidate } from './heaviest.ts'

/** A request as bytes. */
interface RawRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** A generated request of an operation. */
export interface Generated {
  readonly kind: 'accepted' | 'refused'
  readonly what: string
}

export interface Sent {
  /** How many replies had each status; `none` without a reply. */
  readonly statuses: Readonly<Record<string, number>>
  /** The longest wait for a reply. */
  readonly maxMs: number
}

type Order =
  /** Generates the requests of an operation. */
  | { readonly generate: string; readonly url: string; readonly send: SendOptions }
  /** Loads one of them. */
  | { readonly use: number }
  /** Loads another request. */
  | { readonly load: string; readonly url: string; readonly send: SendOptions }
  /** Sends the loaded request `atOnce` times at once, and again when all have replies, until the time is over. */
  | { readonly atOnce: number; readonly seconds: number }

/** Makes the bytes of a request. @param route such as `GET /api/streams/{id}` */
async function rawRequest(url: string, route: string, send: SendOptions): Promise<RawRequest> {
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
    body: bytes,
  }
}

function formOf(fields: Readonly<Record<string, unknown>> = {}, file: NonNullable<SendOptions['file']>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  form.append('file', new Blob([file.content], { type: file.type ?? 'application/octet-stream' }), file.name)
  return form
}

/**
 * Generates and sends heavy requests in a separate process, so that neither its work nor its garbage counts as the
 * server's.
 */
export class HeavySender {
  readonly #child: ChildProcess
  readonly #url: string

  constructor(url: string) {
    this.#url = url
    // In a process group of its own, so that it does not get the signal that interrupts the soak.
    this.#child = fork(fileURLToPath(import.meta.url), ['send'], { detached: true, serialization: 'advanced' })
  }

  /** Generates the requests of an operation. @param send its example, with everything that it needs */
  generate(operation: string, send: SendOptions): Promise<readonly Generated[]> {
    return this.#order({ generate: operation, url: this.#url, send }) as Promise<readonly Generated[]>
  }

  /** Loads one of the generated requests. */
  async use(index: number): Promise<void> {
    await this.#order({ use: index })
  }

  /** Loads another request. */
  async load(route: string, send: SendOptions): Promise<void> {
    await this.#order({ load: route, url: this.#url, send })
  }

  /** Sends the loaded request `atOnce` times at once, and again until `seconds` have passed. 0 sends once. */
  burst(atOnce: number, seconds: number): Promise<Sent> {
    return this.#order({ atOnce, seconds }) as Promise<Sent>
  }

  async #order(order: Order): Promise<unknown> {
    const answered = once(this.#child, 'message')
    this.#child.send(order)
    const [answer] = (await answered) as [unknown]
    return answer
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.kill()
    await ended
  }
}

const TIMEOUT_MS = 60_000

async function run(): Promise<void> {
  const operations = new Map(walk((await import('../../../src/registry/api.ts')).api).map((op) => [op.name, op]))
  const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 4_000 })
  let generated: { readonly url: string; readonly route: string; readonly candidates: readonly Candidate[] } | undefined
  let loaded: RawRequest | undefined

  const sendOne = () =>
    new Promise<string>((resolve) => {
      const { body, headers, method, url } = loaded!
      const signal = AbortSignal.timeout(TIMEOUT_MS)
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

  const obey = async (order: Order): Promise<unknown> => {
    if ('atOnce' in order) return burst(order.atOnce, order.seconds)
    if ('load' in order) {
      loaded = await rawRequest(order.url, order.load, order.send)
      return undefined
    }
    if ('use' in order) {
      const { candidates, route, url } = generated!
      loaded = await rawRequest(url, route, candidates[order.use]!.send)
      return undefined
    }
    const op = operations.get(order.generate) as NamedOperation
    const [good, bad] = [accepted(op, order.send), refused(op, order.send)]
    generated = { url: order.url, route: op.route as string, candidates: [...good, ...bad] }
    return [
      ...good.map(({ what }): Generated => ({ kind: 'accepted', what })),
      ...bad.map(({ what }): Generated => ({ kind: 'refused', what })),
    ]
  }
  process.on('message', (order: Order) => {
    void obey(order).then((answer) => process.send?.(answer ?? {}))
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run()
