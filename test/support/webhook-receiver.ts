import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** A message as an endpoint got it. */
export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly raw: string
  readonly body: {
    readonly id: string
    readonly type: string
    readonly timestamp: string
    readonly version: number
    readonly workspaceId: string
    readonly seq: number
    // oxlint-disable-next-line typescript/no-explicit-any -- the data of any event
    readonly data: any
  }
}

/** Answers a message. Without one, the reply is 204. */
export type Answer = (reply: ServerResponse, message: Received) => void

/** A server with endpoints of webhooks. Each path is an endpoint. */
export class WebhookReceiver {
  /** Every message, in the order of arrival, also those that were refused. */
  readonly received: Received[] = []
  readonly #answers = new Map<string, Answer>()
  readonly #server = createServer((request, reply) => void this.#handle(request, reply))

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`
  }

  /** How an endpoint answers from now on. */
  answer(path: string, answer: Answer): void {
    this.#answers.set(path, answer)
  }

  at(path: string): Received[] {
    return this.received.filter((message) => message.path === path)
  }

  seqsAt(path: string): number[] {
    return this.at(path).map(({ body }) => body.seq)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #handle(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const raw = await text(request)
    const path = request.url ?? ''
    const message = { path, headers: request.headers as Record<string, string>, raw, body: JSON.parse(raw) }
    this.received.push(message)
    const answer = this.#answers.get(path)
    if (answer) answer(reply, message)
    else reply.writeHead(204).end()
  }
}

export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}, body = ''): Answer =>
  (reply) =>
    void reply.writeHead(code, headers).end(body)

/** Checks a signature as receivers do. @throws Error if it is not valid */
export function verify({ headers, raw }: Received, secret: string): unknown {
  return new Webhook(secret).verify(raw, headers)
}
