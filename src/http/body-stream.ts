import { Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'
import { BadRequest, PayloadTooLarge } from '../core/errors.ts'

/**
 * A request's body as a stream with real back-pressure: while nobody reads, the socket is not read either, so that a
 * sender is slowed down by TCP and memory holds one receive buffer at most. It begins paused.
 */
export class BodyStream extends Readable {
  readonly #response: HttpResponse
  readonly #limit: number
  #received = 0
  #complete = false
  #paused = true
  /** The response may not be touched any more: it was sent, or its client is gone. */
  #released = false

  constructor(response: HttpResponse, limit: number) {
    super({ highWaterMark: 256 * 1024 })
    this.#response = response
    this.#limit = limit
    // It may fail before the handler that is to hear of it runs.
    this.on('error', () => {})
    response.onData((chunk, isLast) => this.#take(chunk, isLast))
    response.pause()
  }

  /** Bytes that came so far. */
  get received(): number {
    return this.#received
  }

  /** Whether the whole body came. */
  get complete(): boolean {
    return this.#complete
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength
    this.#complete ||= isLast
    if (this.destroyed) return
    if (this.#received > this.#limit) {
      this.destroy(tooLarge(this.#limit))
      return
    }
    // uWS reuses the memory of a chunk after this callback.
    const wantsMore = chunk.byteLength === 0 || this.push(Buffer.from(chunk.slice(0)))
    if (isLast) this.push(null)
    else if (!wantsMore) this.#pause()
  }

  #pause(): void {
    if (this.#paused || this.#released) return
    this.#paused = true
    this.#response.pause()
  }

  #resume(): void {
    if (!this.#paused || this.#released) return
    this.#paused = false
    this.#response.resume()
  }

  override _read(): void {
    this.#resume()
  }

  /** Nobody wants the rest: it is read and dropped, so that the connection can be used again. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#resume()
    callback(error)
  }

  /** Called right before the reply is sent. */
  release(): void {
    this.#resume()
    this.#released = true
  }

  /** Called when the client is gone. */
  abort(): void {
    this.#released = true
    if (!this.#complete) this.destroy(BadRequest({ message: 'The connection ended before the body did.' }))
  }
}

/** The 413 that names the limit. */
export function tooLarge(limit: number) {
  return PayloadTooLarge({ message: `The body is larger than the ${limit} bytes that this operation takes.` })
}
