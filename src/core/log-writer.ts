import { write, writeSync } from 'node:fs'

/** Bytes gathered before they are written; a system call and a hop to libuv's pool for each would cost more than they. */
const SIZE = 64 * 1024
const FLUSH_MS = 200

/**
 * Writes log lines to a file descriptor: gathered in one buffer while the other is being written, flushed a few times
 * a second and, synchronously, when the process ends. A reader that does not keep up (a full pipe) is waited for.
 */
export class LogWriter {
  readonly #fd: number
  #filling = Buffer.allocUnsafe(SIZE)
  #spare = Buffer.allocUnsafe(SIZE)
  #used = 0
  #writing = false

  constructor(fd: number) {
    this.#fd = fd
    setInterval(() => this.flush(), FLUSH_MS).unref()
    process.once('exit', () => this.flushSync())
  }

  write(line: string): void {
    // Three bytes are the most that UTF-8 takes for one UTF-16 unit.
    if (this.#used + line.length * 3 > SIZE) {
      this.flush()
      if (this.#used > 0) this.flushSync()
      if (line.length * 3 > SIZE) {
        this.#writeAll(Buffer.from(line))
        return
      }
    }
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

  /** Writes what was gathered before it returns. */
  flushSync(): void {
    const length = this.#used
    this.#used = 0
    this.#writeAll(this.#filling.subarray(0, length))
  }

  #writeOn(buffer: Buffer, offset: number, length: number): void {
    write(this.#fd, buffer, offset, length - offset, null, (error, written) => {
      const again = error?.code === 'EAGAIN'
      if ((error && !again) || offset + written >= length) this.#writing = false
      else setImmediate(() => this.#writeOn(buffer, offset + (again ? 0 : written), length))
    })
  }

  #writeAll(buffer: Buffer): void {
    for (let offset = 0; offset < buffer.length; ) {
      try {
        offset += writeSync(this.#fd, buffer, offset)
      } catch (error) {
        // A log that can no longer be written must not end the service; a full pipe is tried again.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      }
    }
  }
}
