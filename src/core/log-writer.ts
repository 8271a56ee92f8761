import { write, writeSync } from 'node:fs'

/** Characters gathered before they are written; a system call and a hop to libuv's pool for each would cost more than they. */
const SIZE = 64 * 1024
const FLUSH_MS = 200

/** How long a flush that must not be put off waits for a reader that has stopped reading. */
const LAST_FLUSH_MS = 500
const RETRY_MS = 20

/**
 * Writes log lines to a file descriptor: gathered as text, encoded together, flushed a few times a second and,
 * synchronously, when the process ends. A reader that stops reading (a full pipe) never stops the
 * service: lines that find no room are counted, and the count is written once there is room again.
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

  /** Begins to write what was gathered, unless a write is under way. */
  flush(): void {
    if (this.#writing || this.#gathered === '') return
    this.#writing = true
    this.#writeOn(this.#take(), 0)
  }

  /** Writes what was gathered before it returns, if the reader takes it soon. */
  flushSync(): void {
    const bytes = this.#take()
    const until = performance.now() + LAST_FLUSH_MS
    for (let offset = 0; offset < bytes.length && performance.now() < until;) {
      try {
        offset += writeSync(this.#fd, bytes, offset, bytes.length - offset)
      } catch (error) {
        // A log that can no longer be written must not keep the process from ending.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      }
    }
  }

  #take(): Buffer {
    const bytes = Buffer.from(this.#gathered)
    this.#gathered = ''
    return bytes
  }

  /** A line that is longer than everything that may be gathered has no room. */
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
