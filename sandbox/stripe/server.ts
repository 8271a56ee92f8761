import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DAY, systemClock, type Clock } from '../../src/core/clock.ts'
import { ROUTES } from './api.ts'
import { Bank } from './bank.ts'
import { BROWSER_FILES } from './browser.ts'
import { readForm } from './form.ts'
import { signedWebhook } from './webhook.ts'
import { invalid, StripeFault, type ApiFault, type KeptReply, type StripeEvent } from './state.ts'

/** What goes wrong with the next request that matches. */
export interface PlannedFault {
  readonly path: RegExp
  readonly method?: string
  /**
   * `before`: the connection breaks and nothing happens. `after`: it happens, and the connection breaks before the
   * reply. `error`: 500 and nothing happens. `hold`: it happens when `release` is called.
   */
  readonly kind: 'before' | 'after' | 'error' | 'hold'
  readonly until?: Promise<void>
}

export interface FakeStripeOptions {
  readonly clock?: Clock
  readonly secretKey?: string
  readonly publicKey?: string
  readonly webhookSecret?: string
}

/** A request, as a test reads it. */
export interface SeenRequest {
  readonly method: string
  readonly path: string
  /** Of a GET, without the question mark. */
  readonly query: string
  readonly body: string
  readonly idempotencyKey: string | undefined
  readonly status: number | undefined
}

/**
 * A stateful fake of Stripe's API over HTTP: customers, payment and setup intents, methods by test card, refunds,
 * disputes, idempotency keys by the documented rules, and signed webhooks. It shares no code with Crier's client.
 */
export class FakeStripe {
  readonly bank: Bank
  readonly secretKey: string
  readonly publicKey: string
  readonly webhookSecret: string
  readonly seen: SeenRequest[] = []
  readonly faults: PlannedFault[] = []
  /** While true, every connection is closed without a reply. */
  isDown = false
  readonly #server: Server
  readonly #clock: Clock
  readonly #running = new Set<string>()

  private constructor({ clock = systemClock, publicKey, secretKey, webhookSecret }: FakeStripeOptions) {
    this.#clock = clock
    this.bank = new Bank(clock)
    this.secretKey = secretKey ?? `sk_test_${randomBytes(16).toString('hex')}`
    this.publicKey = publicKey ?? `pk_test_${randomBytes(16).toString('hex')}`
    this.webhookSecret = webhookSecret ?? `whsec_${randomBytes(16).toString('hex')}`
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async start(options: FakeStripeOptions = {}): Promise<FakeStripe> {
    const fake = new FakeStripe(options)
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve))
    return fake
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The script that shows the form for cards in a browser. */
  get scriptUrl(): string {
    return `${this.url}/js/stripe.js`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** A webhook as Stripe sends it. @param at when it is signed; now by default */
  signed(event: StripeEvent | object, at = this.#clock.now()): { body: string; signature: string } {
    return signedWebhook(event, this.webhookSecret, at)
  }

  /**
   * A card with the behavior of a test card, but another number: that of a person.
   * @returns the id of the method, for `pay`
   */
  cardOf(person: string, card = 'pm_card_visa'): string {
    const method = this.bank.method(card)
    method.card.fingerprint += `_${person}`
    return method.id
  }

  /** What the payer's browser does with the client secret. */
  async pay(clientSecret: string, method = 'pm_card_visa'): Promise<{ status: number; body: { status?: string } }> {
    const [id = ''] = clientSecret.split('_secret_')
    const kind = id.startsWith('seti_') ? 'setup_intents' : 'payment_intents'
    const form = new URLSearchParams({ client_secret: clientSecret, payment_method: method })
    const { reply } = this.#run('POST', new URL(`/v1/${kind}/${id}/confirm`, 'http://fake'), form.toString(), true)
    return { status: reply.status, body: JSON.parse(reply.body) as { status?: string } }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    } catch {
      return
    }
    const body = Buffer.concat(chunks).toString()
    const url = new URL(request.url ?? '/', 'http://fake')
    const method = request.method ?? 'GET'
    const file = BROWSER_FILES[url.pathname]
    if (file !== undefined && !this.isDown) {
      response.writeHead(200, { 'Content-Type': file[0] }).end(file[1])
      return
    }
    const idempotencyKey = request.headers['idempotency-key'] as string | undefined
    const query = url.search.slice(1)
    const entry = { method, path: url.pathname, query, body, idempotencyKey, status: undefined as number | undefined }
    this.seen.push(entry)
    const index = this.faults.findIndex((one) => one.path.test(url.pathname) && (one.method ?? method) === method)
    const [fault] = index === -1 ? [] : this.faults.splice(index, 1)
    if (this.isDown || fault?.kind === 'before') {
      request.socket.destroy()
      return
    }
    const reply = await this.#answer(fault, idempotencyKey, () => this.#reply(method, url, body, request))
    entry.status = reply.status
    if (fault?.kind === 'after') {
      request.socket.destroy()
      return
    }
    response.writeHead(reply.status, {
      'Content-Type': 'application/json',
      'Request-Id': this.bank.id('req'),
      ...(reply.replayed === true && { 'Idempotent-Replayed': 'true' }),
    })
    response.end(reply.body)
  }

  /** Refuses a second request with the same key while the first one runs. */
  async #answer(fault: PlannedFault | undefined, key: string | undefined, run: () => FakeReply): Promise<FakeReply> {
    if (fault?.kind === 'error') {
      const error = { type: 'api_error', message: 'An unknown error occurred.' }
      return { status: 500, body: JSON.stringify({ error }) }
    }
    if (key !== undefined && this.#running.has(key)) {
      const message = `There is currently another in-progress request using this Idempotent Key: ${key}.`
      return refusal(new StripeFault(409, { type: 'invalid_request_error', code: 'idempotency_key_in_use', message }))
    }
    if (fault?.until === undefined || key === undefined) return run()
    this.#running.add(key)
    try {
      await fault.until
      return run()
    } finally {
      this.#running.delete(key)
    }
  }

  #reply(method: string, url: URL, body: string, request: IncomingMessage): FakeReply {
    const authorization = request.headers.authorization ?? ''
    const isPublic = authorization === `Bearer ${this.publicKey}`
    if (!isPublic && authorization !== `Bearer ${this.secretKey}`) {
      return refusal(new StripeFault(401, { type: 'invalid_request_error', message: 'Invalid API Key provided' }))
    }
    const key = request.headers['idempotency-key'] as string | undefined
    const run = () => this.#run(method, url, body, isPublic)
    if (method !== 'POST' || key === undefined) return run().reply
    if (key.length > 255) return refusal(invalid('The idempotency key is longer than 255 characters.'))
    return this.#once(key, `${method} ${url.pathname} ${body}`, run)
  }

  /**
   * Keeps the first reply of a key for 24 hours, with errors. Not kept: requests that failed validation.
   * https://docs.stripe.com/api/idempotent_requests
   */
  #once(key: string, request: string, run: () => Ran): FakeReply {
    const { replies } = this.bank.state
    const kept = replies.get(key)
    if (kept !== undefined && kept.at > this.#clock.now() - DAY) {
      if (kept.request !== request) {
        return refusal(
          new StripeFault(400, {
            type: 'idempotency_error',
            message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
          }),
        )
      }
      return { status: kept.status ?? 409, body: kept.body, replayed: true }
    }
    const { isValid, reply } = run()
    const entry: KeptReply = { request, at: this.#clock.now(), ...reply }
    if (isValid) replies.set(key, entry)
    return reply
  }

  #run(method: string, url: URL, body: string, isPublic: boolean): Ran {
    const form = readForm(method === 'GET' ? url.search.slice(1) : body)
    for (const [verb, path, run] of ROUTES) {
      const match = verb === method ? path.exec(url.pathname) : null
      if (match === null) continue
      if (isPublic && !url.pathname.endsWith('/confirm')) {
        const message = 'This API call cannot be made with a publishable API key.'
        return { isValid: false, reply: refusal(new StripeFault(403, { type: 'invalid_request_error', message })) }
      }
      try {
        const found = run({ bank: this.bank, form, ids: match.slice(1), isPublic })
        return { isValid: true, reply: { status: 200, body: JSON.stringify(found) } }
      } catch (error) {
        if (!(error instanceof StripeFault)) throw error
        return { isValid: error.status === 402, reply: refusal(error) }
      }
    }
    const message = `Unrecognized request URL (${method}: ${url.pathname}).`
    return { isValid: false, reply: refusal(new StripeFault(404, { type: 'invalid_request_error', message })) }
  }
}

interface FakeReply {
  readonly status: number
  readonly body: string
  readonly replayed?: true
}

interface Ran {
  readonly isValid: boolean
  readonly reply: FakeReply
}

function refusal({ fault, status }: { readonly fault: ApiFault; readonly status: number }): FakeReply {
  return { status, body: JSON.stringify({ error: fault }) }
}
