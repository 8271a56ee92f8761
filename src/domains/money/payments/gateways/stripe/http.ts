import { Stripe } from 'stripe'
import { OutgoingError, type Outgoing } from '../../../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../../../fetch/target.ts'

/** Longer than Stripe takes for a charge that a bank looks at. */
const TIMEOUT_MS = 25_000
const MAX_BYTES = 4_000_000

/** Requests of the SDK through Crier's own client, with its bounds: one attempt, one timeout, a limited reply. */
export class StripeHttp extends Stripe.HttpClient {
  readonly #outgoing: Outgoing
  readonly #timeoutMs: number

  constructor(outgoing: Outgoing, timeoutMs = TIMEOUT_MS) {
    super()
    this.#outgoing = outgoing
    this.#timeoutMs = timeoutMs
  }

  override getClientName(): string {
    return 'crier'
  }

  override async makeRequest(
    host: string,
    port: string,
    path: string,
    method: string,
    headers: object,
    body: string,
    protocol: string,
  ): Promise<Reply> {
    const request = {
      method,
      url: `${protocol}://${host}:${port}${path}`,
      headers: textOf(headers),
      body: method === 'GET' || body === '' ? undefined : body,
      maxBytes: MAX_BYTES,
      timeoutMs: this.#timeoutMs,
    }
    try {
      // The operator has configured the host.
      const { bytes, headers: replied, status } = await this.#outgoing.send(request, OPEN_RULES)
      return new Reply(status, replied as Record<string, string>, bytes.toString())
    } catch (error) {
      // Without a code, because the SDK repeats requests whose connection was closed, even when told not to.
      throw error instanceof OutgoingError ? new Error(error.message, { cause: error }) : error
    }
  }
}

class Reply extends Stripe.HttpClientResponse {
  readonly #text: string

  constructor(status: number, headers: Record<string, string>, text: string) {
    super(status, headers)
    this.#text = text
  }

  /** The SDK adds the status and headers to it. */
  override getRawResponse(): object {
    return {}
  }

  override toJSON(): Promise<unknown> {
    return new Promise((resolve) => resolve(JSON.parse(this.#text)))
  }
}

/** The length is set by the client, from the body. */
function textOf(headers: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name, value]) => value !== undefined && value !== null && name.toLowerCase() !== 'content-length')
      .map(([name, value]) => [name, String(value)]),
  )
}
