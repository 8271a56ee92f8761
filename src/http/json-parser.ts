import { Piscina } from 'piscina'
import { MINUTE, SECOND } from '../core/clock.ts'
import { BadRequest, Overloaded, PayloadTooLarge } from '../core/errors.ts'
import { resumed } from '../tools/work-time.ts'
import type { JsonSchema } from '../core/validation-sentences.ts'
import { decode, parseJson } from './json-body.ts'
import type { ParsedBody, UnparsedBody } from './json-thread.ts'

/** Longer than any body takes. */
const TIMEOUT_MS = 10 * SECOND
const MAX_WAITING = 100

/** Bodies of this size are parsed in a thread: 256 kB of text take about two milliseconds. */
export const LARGE_BODY = 256_000

/**
 * Parses large JSON bodies in a thread, which starts with the first one and ends when there are none. To decode and parse
 * 8 MB takes up to 100 ms. A valid body with many fields is then parsed on the main thread again, because copying its
 * value from another thread takes longer than parsing it.
 */
export class JsonParser {
  #pool: Piscina | undefined

  /**
   * @param most how many fields and items it may have
   * @param schema what the value will be validated against; texts that it refuses are cut
   * @throws AppError bad_request, payload_too_large, overloaded
   */
  async parse(bytes: Uint8Array, most: number, schema?: JsonSchema): Promise<unknown> {
    this.#pool ??= new Piscina({
      filename: new URL('json-thread.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: 1,
      maxQueue: MAX_WAITING,
      idleTimeout: MINUTE,
    })
    if (this.#pool.queueSize >= MAX_WAITING) throw Overloaded({ retryAfter: 1 })
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const body: UnparsedBody = { bytes, most, schema }
    const parsed = await this.#pool.run(body, { signal }).then(
      (result) => result as ParsedBody,
      (error: unknown) => {
        throw signal.aborted ? Overloaded({ retryAfter: 1 }) : error
      },
    )
    resumed()
    if ('value' in parsed) return parsed.value
    if ('isValid' in parsed) return parseJson(decode(bytes), most)
    const { code, message } = parsed.refusal
    throw code === 'payload_too_large' ? PayloadTooLarge({ message }) : BadRequest({ message })
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
  }
}
