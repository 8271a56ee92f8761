import type { Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'

/** Notifies a sender that the client has disconnected. After that, the response must not be used. */
export class Departure {
  left = false
  #listener: (() => void) | undefined

  /** The current listener. Each new one replaces the previous one. */
  onLeave(listener: (() => void) | undefined): void {
    this.#listener = listener
  }

  announce(): void {
    this.left = true
    this.#listener?.()
  }
}

/**
 * Sends a stream of known length over a response whose headers were written, one chunk at a time. The next chunk is
 * read only when the socket has accepted the one before.
 * @returns whether everything was sent
 */
export async function sendChunks(
  response: HttpResponse,
  source: AsyncIterable<Buffer>,
  length: number,
  departure: Departure,
): Promise<boolean> {
  try {
    for await (const chunk of source) {
      if (departure.left) return false
      if (await sendChunk(response, chunk, length, departure)) return true
    }
  } catch {
    // The source failed or the client disconnected. Either way the reply cannot be completed.
  }
  return false
}

/** Closes a source that is abandoned before its end. */
export async function dropSource(source: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of source) break
}

/**
 * Sends a stream of unknown length over a response whose headers were written, until the stream ends or the client
 * disconnects. The next chunk is read only when the socket has accepted the one before.
 * @returns whether the source ended without an error while the client was connected
 */
export async function sendWhole(response: HttpResponse, source: Readable, departure: Departure): Promise<boolean> {
  departure.onLeave(() => source.destroy())
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (departure.left) return false
      let ok = true
      response.cork(() => {
        ok = response.write(chunk)
      })
      if (!ok) await writable(response, source)
    }
    return !departure.left
  } catch {
    return false
  } finally {
    source.destroy()
  }
}

/** Resolves when the socket has drained, or when the source was destroyed. */
function writable(response: HttpResponse, source: Readable): Promise<void> {
  return new Promise((resolve) => {
    source.once('close', resolve)
    response.onWritable(() => {
      source.off('close', resolve)
      resolve()
      return true
    })
  })
}

/** Resolves when the socket has accepted the chunk: true if the response is complete. */
function sendChunk(response: HttpResponse, chunk: Buffer, length: number, departure: Departure): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const base = response.getWriteOffset()
    let ok = true
    let done = false
    response.cork(() => {
      ;[ok, done] = response.tryEnd(chunk, length)
    })
    if (ok || done) {
      resolve(done)
      return
    }
    departure.onLeave(() => reject(new Error('the client left')))
    response.onWritable((offset) => {
      const [okNow, doneNow] = response.tryEnd(chunk.subarray(offset - base), length)
      if (okNow || doneNow) {
        departure.onLeave(undefined)
        resolve(doneNow)
      }
      return okNow
    })
  })
}

/**
 * Sends the rest of a body after `tryEnd`, as the socket accepts more.
 * @param body the whole body
 * @param onProgress called with the number of accepted bytes; after `complete` the response must not be used
 */
export function sendRest(
  response: HttpResponse,
  body: Uint8Array,
  onProgress: (offset: number, complete: boolean) => void,
): void {
  response.onWritable((offset) => {
    const [ok, done] = response.tryEnd(body.subarray(offset), body.length)
    onProgress(done ? body.length : response.getWriteOffset(), done)
    return ok
  })
}
