import { write, writeSync } from 'node:fs'

/** Bytes gathered before they are written; a system call and a hop to libuv's pool for each would cost more than they. */
const SIZE = 64 * 1024
const FLUSH_MS = 200

/** How long a flush that must not be put off waits for a reader that has stopped reading. */
const LAST_FLUSH_MS = 500
const RETRY_MS = 20

/**
 * Writes log lines to a file descriptor: gathered in one buffer while the other is being written, flushed a few times
 * a second and, synchronously, when the process ends. A reader that stops reading (a full pipe) never stops the
 * service: lines that find no room are counted, and the count is written once there is room again.
 */
export class LogWriter {
  readonly #fd: number
  #filling = Buffer.allocUnsafe(SIZE)
  #spare = Buffer.allocUnsafe(SIZE)
  #used = 0
  #writing = false
  #dropped = 0

  constructor(fd: number) {
    this.#fd = fd
    setInterval(() => this.flush(), FLUSH_MS).unref()
    process.once('exit', () => this.flushSync())
  }

  write(line: string): void {
    if (!this.#hasRoom(line)) this.flush()
    if (!this.#hasRoom(line)) {
      this.#dropped += 1
      return
    }
    if (this.#dropped > 0 && this.#used === 0) this.#noteDropped()
    this.#used += this.#filling.write(line, this.#used)
  }

  /** Begins to write what was gathered, unless a write is under way. */
  flush(): void {
    if (this.#writing || this.#used === 0) return
    const full = this.#filling
    const length = this.#used
    this.#filling = this.#spare
    this.#spare = full
    this.#used = 0
    this.#writing = true
    this.#writeOn(full, 0, length)
  }

  /** Writes what was gathered before it returns, if the reader takes it soon. */
  flushSync(): void {
    const length = this.#used
    this.#used = 0
    const until = performance.now() + LAST_FLUSH_MS
    for (let offset = 0; offset < length && performance.now() < until;) {
      try {
        offset += writeSync(this.#fd, this.#filling, offset, length - offset)
      } catch (error) {
        // A log that can no longer be written must not keep the process from ending.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      }
    }
  }

  /** Three bytes are the most that UTF-8 takes for one UTF-16 unit; some stay free for the note of dropped lines. */
  #hasRoom(line: string): boolean {
    return this.#used + line.length * 3 <= SIZE - 100
  }

  #noteDropped(): void {
    this.#used += this.#filling.write(
      `{"level":40,"dropped":${this.#dropped},"msg":"log lines were dropped"}\n`,
      this.#used,
    )
    this.#dropped = 0
  }

  #writeOn(buffer: Buffer, offset: number, length: number): void {
    write(this.#fd, buffer, offset, length - offset, null, (error, written) => {
      const again = error?.code === 'EAGAIN'
      const reached = offset + (error ? 0 : written)
      if ((error && !again) || reached >= length) this.#writing = false
      else setTimeout(() => this.#writeOn(buffer, reached, length), again ? RETRY_MS : 0).unref()
    })
  }
}
