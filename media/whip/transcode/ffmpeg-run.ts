import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { OutputWatchdog } from '../../output-watchdog.ts'
import { FlvReader, type FlvTag } from '../../rtmp/flv-reader.ts'
import { matroskaFrame, matroskaHead, type CodedTrack } from './matroska.ts'

export interface FfmpegRunOptions {
  /** Of ffmpeg. */
  readonly path: string
  readonly args: readonly string[]
  readonly track: CodedTrack
  /** Time 0 of what ffmpeg gets to see, milliseconds on the session's line. */
  readonly origin: number
  /** Tags as they come out, on the session's line. */
  readonly onTag: (tag: FlvTag) => void
  /** It ended though nobody asked it to, or had to be ended. `said` is what it complained of last. */
  readonly onFailure: (reason: string, said: readonly string[]) => void
}

/** What ffmpeg has not read; more means that it does not keep up. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024
/** How long it may take to hand out what it has, at the end. */
const FLUSH_MS = 1_500
/**
 * It gives something out within hundredths of a second, also on a machine with ten times the work that it can do. Its
 * start takes longer there.
 */
const HANG = { firstMs: 10_000, silentMs: 3_000 } as const
const LINES_KEPT = 10

/** One process of ffmpeg, from its start to its end. */
export class FfmpegRun {
  readonly #options: FfmpegRunOptions
  readonly #process: ChildProcessWithoutNullStreams
  readonly #exited = Promise.withResolvers<void>()
  readonly #said: string[] = []
  readonly #watch = new OutputWatchdog(HANG)
  #over = false

  constructor(options: FfmpegRunOptions) {
    const { args, onTag, origin, path, track } = options
    this.#options = options
    this.#process = spawn(path, args, { stdio: 'pipe', env: {} })
    const reader = new FlvReader(({ body, timestamp, type }) => {
      this.#watch.noteOutput()
      onTag({ type, body, timestamp: timestamp + origin })
    })
    this.#process.stdout.on('data', (bytes: Buffer) => reader.push(bytes))
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => this.#hear(text))
    // That it cannot be written to any more shows as its end.
    this.#process.stdin.on('error', () => {})
    this.#process.once('error', (error) => this.#onExit(error.message))
    this.#process.once('close', (code, signal) => this.#onExit(signal ?? `code ${code}`))
    this.#process.stdin.write(matroskaHead(track))
  }

  /** Hands a frame over. @param timestamp on the session's line */
  write(timestamp: number, isKeyframe: boolean, data: Buffer): void {
    const { stdin } = this.#process
    const time = timestamp - this.#options.origin
    if (this.#over || time < 0) return
    if (stdin.writableLength > MOST_WAITING_BYTES) this.#fail('ffmpeg does not keep up')
    else if (this.#watch.noteInput(performance.now())) this.#fail('ffmpeg gives nothing out')
    else stdin.write(matroskaFrame(time, isKeyframe, data))
  }

  /** Lets it hand out what it has, then ends it. */
  async finish(): Promise<void> {
    if (!this.#over) {
      this.#over = true
      this.#process.stdin.end()
    }
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), FLUSH_MS)
    await this.#exited.promise
    clearTimeout(timer)
  }

  /** Ends it at once; nothing it still says counts. */
  kill(): void {
    this.#over = true
    this.#process.stdout.removeAllListeners('data').resume()
    this.#process.kill('SIGKILL')
  }

  #hear(text: string): void {
    this.#said.push(...text.split('\n').filter((line) => line.trim() !== ''))
    this.#said.splice(0, this.#said.length - LINES_KEPT)
  }

  #onExit(how: string): void {
    this.#exited.resolve()
    if (!this.#over) this.#fail(`ffmpeg ended (${how})`)
  }

  #fail(reason: string): void {
    this.kill()
    this.#options.onFailure(reason, this.#said)
  }
}
