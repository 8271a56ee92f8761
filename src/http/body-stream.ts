import { Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'
import { BadRequest, PayloadTooLarge } from '../core/errors.ts'
import { resumed } from '../tools/work-time.ts'
import { ByteQueue } from './byte-queue.ts'
import type { ReceiveBuffers } from './receive-buffers.ts'

/** The socket is paused when this many bytes are buffered. */
const ENOUGH = 256 * 1024

/**
 * A request's body as a stream with back-pressure: while the stream is not read, the socket is not read either, and TCP
 * slows the sender down. It starts paused.
 *
 * After a pause, uSockets keeps reading until a read does not fill its 512 KB. A sender that is as fast as this process
 * can therefore deliver any number of chunks in one turn of the event loop. They are copied into reused memory:
 * allocating memory for each would slow the process (by garbage collection) so much that the sender always has more
 * data and the loop never ends. When that memory is full, they are written to disk.
 */
export class BodyStream extends Readable {
  readonly #response: HttpResponse
  readonly #limit: number
  readonly #queue: ByteQueue
  #received = 0
  #complete = false
  #paused = true
  /** The response must no longer be used: it was sent, or the client disconnected. */
  #released = false
  /** Why the body ended early. Reported after the bytes before it have been read. */
  #cut: Error | undefined
  #wake: (() => void) | undefined

  constructor(response: HttpResponse, limit: number, buffers: ReceiveBuffers) {
    super({ highWaterMark: 0 })
    this.#response = response
    this.#limit = limit
    this.#queue = new ByteQueue(buffers)
    // The stream may fail before the handler has added its own listener.
    this.on('error', () => {})
    response.onData((chunk, isLast) => this.#take(chunk, isLast))
    response.pause()
  }

  /** Bytes received so far. */
  get received(): number {
    return this.#received
  }

  /** Whether the whole body was received. */
  get complete(): boolean {
    return this.#complete
  }

  /**
   * The body in blocks whose memory is reused: the reader must finish with a block before it requests the next. Use it
   * instead of the stream, not together with it.
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

  /**
   * @returns undefined at the end
   * @throws the error that ended the body early
   */
  async #next(): Promise<Buffer | undefined> {
    for (;;) {
      if (this.destroyed) throw this.errored ?? new Error('the body was discarded')
      const block = await this.#queue.read()
      if (block) return block
      // Bytes that arrived since the check above have not woken the reader.
      if (this.#queue.length > 0) continue
      if (this.#complete) return undefined
      if (this.#cut) throw this.#cut
      this.#resume()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      resumed()
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

  /** A copy, because readers of a stream keep their chunks. */
  async #pull(): Promise<void> {
    const block = await this.#next()
    this.push(block ? Buffer.from(block) : null)
    this.#queue.release()
  }

  /** Reads and drops the rest of the body, so that the connection can be reused. */
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

  /** Called when the client disconnects. Bytes received before can still be read. */
  abort(): void {
    this.#released = true
    this.#cut = BadRequest({ message: 'The connection ended before the body did.' })
    this.#wake?.()
  }
}

/** The 413 error with the limit. */
export function tooLarge(limit: number) {
  return PayloadTooLarge({ message: `The body is larger than the limit of ${limit} bytes. Send a smaller one.` })
}
