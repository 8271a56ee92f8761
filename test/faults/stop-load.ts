import { setTimeout as delay } from 'node:timers/promises'
import { send, type Reply } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

const PAUSE_MS = 10

let loads = 0

/**
 * Clients of several nodes that create streams, one after the other. Each client uses one node. It retries a failed
 * request once at the first node with the same idempotency key, like a client behind a load balancer.
 */
export class StopLoad {
  /** What the titles of its streams begin with. */
  readonly prefix = `load${(loads += 1)}-`
  readonly #urls: readonly [string, ...string[]]
  readonly #clients: Promise<void>[] = []
  readonly #latest = new Map<string, number>()
  readonly #errors: string[] = []
  readonly #titles: string[] = []
  #retried = 0
  #sent = 0
  #running = true

  constructor(urls: readonly [string, ...string[]]) {
    this.#urls = urls
  }

  get acknowledged(): number {
    return this.#titles.length
  }

  /** Adds one client per node for a workspace. */
  add(workspaceId: string, apiKey: string): void {
    for (const url of this.#urls) this.#clients.push(this.#client(url, workspaceId, apiKey))
  }

  /** Waits until a request sent from now on has succeeded in each workspace, for the clients of each node. */
  async untilServed(): Promise<void> {
    const since = performance.now()
    await waitFor(() => this.#latest.size > 0 && [...this.#latest.values()].every((at) => at > since), {
      what: 'every workspace to be served',
    })
  }

  /** @returns the errors of requests that failed twice, how many were retried, and the titles of the created streams */
  async stop(): Promise<{ errors: readonly string[]; retried: number; titles: string[] }> {
    this.#running = false
    await Promise.all(this.#clients)
    return { errors: this.#errors, retried: this.#retried, titles: this.#titles }
  }

  async #client(url: string, workspaceId: string, apiKey: string): Promise<void> {
    while (this.#running) {
      const sentAt = performance.now()
      const title = `${this.prefix}${String((this.#sent += 1)).padStart(8, '0')}`
      const options = { apiKey, body: { workspaceId, title }, headers: { 'Idempotency-Key': title } }
      let failure = await attempt(url, options)
      if (failure !== undefined) {
        this.#retried += 1
        failure = await attempt(this.#urls[0], options)
      }
      if (failure === undefined) this.#titles.push(title)
      else this.#errors.push(`${title}: ${failure}`)
      this.#latest.set(`${url} ${workspaceId}`, sentAt)
      await delay(PAUSE_MS)
    }
  }
}

/** @returns the error, if any */
async function attempt(url: string, options: Parameters<typeof send>[2]): Promise<string | undefined> {
  let reply: Reply
  try {
    reply = await send(url, 'POST /api/streams', options)
  } catch (error) {
    return `no reply: ${String((error as Error).cause ?? error)}`
  }
  return reply.status === 201 ? undefined : `${reply.status} ${String(reply.body.code)}`
}
