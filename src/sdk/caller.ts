import { CrierError } from './client.ts'
import { SocketLostError, type Connection } from './connection.ts'

/** The reply to a call. */
export interface SocketReply<S extends number = number, B = unknown> {
  readonly status: S
  readonly headers: Readonly<Record<string, string>>
  readonly body: B
}

/** How many messages may be pending at once, so that many channels that catch up stay below the server's limits. */
const AT_A_TIME = 8
const LONGEST_WAIT_S = 20
/** The server did nothing and says when to try again. */
const REFUSED = new Set(['shutting_down', 'overloaded', 'too_many_calls', 'rate_limited', 'database_unavailable'])

/** Calls the server over a connection, and retries if that is safe. */
export class Caller {
  readonly #connection: Connection
  readonly #queue: (() => void)[] = []
  #underWay = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Sends a message until it is acknowledged.
   * @param resend whether it may be sent again although it may have taken effect
   * @returns the `data` of the reply
   * @throws CrierError when the server refused it; SocketLostError when the outcome is unknown and `resend` is false
   */
  async ask(name: string, message: unknown, resend = true): Promise<unknown> {
    const { body } = await this.reply(name, message, resend)
    return (body as { data?: unknown } | undefined)?.data
  }

  /** The same, with the whole reply. */
  async reply(name: string, message: unknown, resend: boolean): Promise<SocketReply> {
    for (let tries = 0; ; tries += 1) {
      await this.#connection.whenConnected()
      try {
        return await this.#once(name, message)
      } catch (error) {
        const wait = pause(error, tries, resend)
        if (wait === undefined) throw error
        await new Promise((resolve) => {
          setTimeout(resolve, wait)
        })
      }
    }
  }

  async #once(name: string, message: unknown): Promise<SocketReply> {
    if (this.#underWay >= AT_A_TIME) await new Promise<void>((resolve) => this.#queue.push(resolve))
    this.#underWay += 1
    try {
      const reply = (await this.#connection.ask(name, message)) as SocketReply
      if (reply.status < 400) return reply
      throw new CrierError(reply.status, new Headers(reply.headers), reply.body)
    } finally {
      this.#underWay -= 1
      this.#queue.shift()?.()
    }
  }
}

/** Milliseconds before the next attempt; undefined when a retry is pointless. */
function pause(error: unknown, tries: number, resend: boolean): number | undefined {
  const backOff = Math.min(100 * 2 ** tries, 5_000) * (0.5 + Math.random())
  if (error instanceof SocketLostError) return resend ? backOff : undefined
  if (!(error instanceof CrierError)) return undefined
  const mayAgain = error.status === 503 || error.status === 429 || error.code === 'idempotency_key_in_use'
  if (!mayAgain || (!resend && !REFUSED.has(error.code))) return undefined
  if ((error.retryAfter ?? 0) > LONGEST_WAIT_S) return undefined
  return Math.max(backOff, (error.retryAfter ?? 0) * 1_000)
}
