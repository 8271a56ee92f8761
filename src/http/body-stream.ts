import { Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'
import { BadRequest, PayloadTooLarge } from '../core/errors.ts'
import { ByteQueue } from './byte-queue.ts'
import type { ReceiveBuffers } from './receive-buffers.ts'

/** Bytes that wait before the socket is not read any more. */
const ENOUGH = 256 * 1024

/**
 * A request's body as a stream with back-pressure: while nobody reads, the socket is not read either, so that a sender
 * is slowed down by TCP. It begins paused.
 *
 * uSockets goes on reading after a pause until a read does not fill its 512 KB, so a sender that is as fast as this
 * process brings any number of chunks in one turn of the event loop. They are copied into memory that is used again and
 * again: to allocate for each of them makes the collector so slow that the sender always has more, and the loop never
 * ends. Beyond that memory they wait on the disk.
 */
export class BodyStream extends Readable {
  readonly #response: HttpResponse
  readonly #limit: number
  readonly #queue: ByteQueue
  #received = 0
  #complete = false
  #paused = true
  /** The response may not be touched any more: it was sent, or its client is gone. */
  #released = false
  /** Why no more comes; told after what has come. */
  #cut: Error | undefined
  #wake: (() => void) | undefined

  constructor(response: HttpResponse, limit: number, buffers: ReceiveBuffers) {
    super({ highWaterMark: 0 })
    this.#response = response
    this.#limit = limit
    this.#queue = new ByteQueue(buffers)
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

  /**
   * The body for whoever is done with a piece when asking for the next one: its memory is used again. In place of
   * reading the stream, not beside it.
   */
  async *blocks(): AsyncGenerator<Buffer> {
    try {
      for (let block = await this.#next(); block; block = await this.#next()) yield block
    } finally {
      this.#queue.release()
      this.destroy()
    }
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength
    this.#complete ||= isLast
    if (this.destroyed) return
    if (this.#received > this.#limit) {
      this.destroy(tooLarge(this.#limit))
      return
    }
    try {
      this.#queue.write(new Uint8Array(chunk))
    } catch (error) {
      this.destroy(error as Error)
      return
    }
    if (!isLast && this.#queue.length >= ENOUGH) this.#pause()
    this.#wake?.()
  }

  /** @returns undefined at the end @throws what has ended the body before its end */
  async #next(): Promise<Buffer | undefined> {
    for (;;) {
      if (this.destroyed) throw this.errored ?? new Error('nobody wants the body any more')
      const block = await this.#queue.read()
      if (block) return block
      // What came since it was looked for has woken nobody.
      if (this.#queue.length > 0) continue
      if (this.#complete) return undefined
      if (this.#cut) throw this.#cut
      this.#resume()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
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
    this.#pull().catch((error: unknown) => this.destroy(error as Error))
  }

  /** A copy: whoever reads a stream keeps what it got. */
  async #pull(): Promise<void> {
    const block = await this.#next()
    this.push(block ? Buffer.from(block) : null)
    this.#queue.release()
  }

  /** Nobody wants the rest: it is read and dropped, so that the connection can be used again. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#resume()
    this.#wake?.()
    this.#queue.close()
    callback(error)
  }

  /** Called right before the reply is sent. */
  release(): void {
    this.#resume()
    this.#released = true
  }

  /** Called when the client is gone. What came before is still there to be read. */
  abort(): void {
    this.#released = true
    this.#cut = BadRequest({ message: 'The connection ended before the body did.' })
    this.#wake?.()
  }
}

/** The 413 that names the limit. */
export function tooLarge(limit: number) {
  return PayloadTooLarge({ message: `The body is larger than the ${limit} bytes that this operation takes.` })
}
