import type { Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'

/** Tells whoever sends that the client has left: from then on the response must not be touched. */
export class Departure {
  left = false
  #listener: (() => void) | undefined

  /** Whom to tell; the last one set. */
  onLeave(listener: (() => void) | undefined): void {
    this.#listener = listener
  }

  announce(): void {
    this.left = true
    this.#listener?.()
  }
}

/**
 * Sends a stream of known length over a response whose head was written, one chunk at a time: the next is read only
 * when the socket took the one before.
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
    // The source failed, or the client left; either way the reply cannot be finished.
  }
  return false
}

/** Closes a source that nobody reads: it is open from its first piece to when it is left. */
export async function dropSource(source: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of source) break
}

/**
 * Sends a stream of unknown length over a response whose head was written, until the one ends or the client leaves. The
 * next chunk is read only when the socket took the one before.
 * @returns whether the source ended by itself
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

/** Resolves when the socket took what it had, or when the source was destroyed because nobody waits for it. */
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

/** Resolves when the socket took the chunk: true when that was the last of it. */
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
 * Sends what `tryEnd` left of a body, whenever the socket takes more.
 * @param body the whole body
 * @param onProgress told how many bytes were taken; after `complete` the response must not be touched
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
