import { write, writeSync } from 'node:fs'

/**
 * Characters to buffer before a write. A system call and a round trip to libuv's pool per line would cost more than the
 * line.
 */
const SIZE = 64 * 1024
const FLUSH_MS = 200

/** How long a synchronous flush waits for a reader that has stopped reading. */
const LAST_FLUSH_MS = 500
const RETRY_MS = 20

/**
 * Writes log lines to a file descriptor. Lines are buffered as text, encoded together, and flushed a few times a second
 * and synchronously when the process exits. A reader that stops reading (a full pipe) never blocks the service: lines
 * that do not fit are counted, and the count is written once there is room again.
 */
export class LogWriter {
  readonly #fd: number
  #gathered = ''
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
    if (this.#dropped > 0 && this.#gathered === '') this.#noteDropped()
    this.#gathered += line
  }

  /** Starts to write the buffer, unless a write is already running. */
  flush(): void {
    if (this.#writing || this.#gathered === '') return
    this.#writing = true
    this.#writeOn(this.#take(), 0)
  }

  /** Writes the buffer synchronously, if the reader accepts it soon. */
  flushSync(): void {
    const bytes = this.#take()
    const until = performance.now() + LAST_FLUSH_MS
    for (let offset = 0; offset < bytes.length && performance.now() < until;) {
      try {
        offset += writeSync(this.#fd, bytes, offset, bytes.length - offset)
      } catch (error) {
        // A log that cannot be written must not keep the process from exiting.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      }
    }
  }

  #take(): Buffer {
    const bytes = Buffer.from(this.#gathered)
    this.#gathered = ''
    return bytes
  }

  /** Whether a line is longer than the whole buffer. */
  #hasRoom(line: string): boolean {
    return this.#gathered.length + line.length <= SIZE
  }

  #noteDropped(): void {
    this.#gathered += `{"level":40,"dropped":${this.#dropped},"msg":"log lines were dropped"}\n`
    this.#dropped = 0
  }

  #writeOn(bytes: Buffer, offset: number): void {
    write(this.#fd, bytes, offset, bytes.length - offset, null, (error, written) => {
      const again = error?.code === 'EAGAIN'
      const reached = offset + (error ? 0 : written)
      if ((error && !again) || reached >= bytes.length) this.#writing = false
      else setTimeout(() => this.#writeOn(bytes, reached), again ? RETRY_MS : 0).unref()
    })
  }
}
