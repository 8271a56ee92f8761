import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { OutputWatchdog } from '../../output-watchdog.ts'
import { FlvReader, type FlvTag } from '../../rtmp/flv-reader.ts'
import { matroskaFrame, matroskaHeader, type CodedTrack } from './matroska.ts'

export interface FfmpegProcessOptions {
  /** Path of ffmpeg. */
  readonly path: string
  readonly args: readonly string[]
  readonly track: CodedTrack
  /** Session time that is 0 for ffmpeg, milliseconds. */
  readonly origin: number
  /** Called with each FLV tag of the output, in session time. */
  readonly onTag: (tag: FlvTag) => void
  /** The process ended unexpectedly, or was killed because it hung. `stderr` has its last lines. */
  readonly onFailure: (reason: string, stderr: readonly string[]) => void
}

/** Input that ffmpeg has not read yet. With more than this it does not keep up. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024
/** Time limit for the remaining output at the end. */
const FLUSH_TIMEOUT_MS = 1_500
/**
 * ffmpeg writes output within tens of milliseconds, even on a machine with ten times the load that it can handle. Starting
 * takes longer there.
 */
const HANG = { firstMs: 10_000, silentMs: 3_000 } as const
const MAX_STDERR_LINES = 10

/** One ffmpeg process that transcodes a track: Matroska in, FLV out. */
export class FfmpegProcess {
  readonly #options: FfmpegProcessOptions
  readonly #process: ChildProcessWithoutNullStreams
  readonly #exited = Promise.withResolvers<void>()
  readonly #stderr: string[] = []
  readonly #watchdog = new OutputWatchdog(HANG)
  #hasEnded = false

  constructor(options: FfmpegProcessOptions) {
    const { args, onTag, origin, path, track } = options
    this.#options = options
    this.#process = spawn(path, args, { stdio: 'pipe', env: {} })
    const reader = new FlvReader(({ body, timestamp, type }) => {
      this.#watchdog.noteOutput()
      onTag({ type, body, timestamp: timestamp + origin })
    })
    this.#process.stdout.on('data', (bytes: Buffer) => reader.push(bytes))
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => this.#addStderr(text))
    // A write error means that the process has ended, which `close` reports.
    this.#process.stdin.on('error', () => {})
    this.#process.once('error', (error) => this.#onExit(error.message))
    this.#process.once('close', (code, signal) => this.#onExit(signal ?? `code ${code}`))
    this.#process.stdin.write(matroskaHeader(track))
  }

  /** Writes a frame. @param timestamp session time, milliseconds */
  write(timestamp: number, isKeyframe: boolean, data: Buffer): void {
    const { stdin } = this.#process
    const time = timestamp - this.#options.origin
    if (this.#hasEnded || time < 0) return
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.#fail('ffmpeg does not keep up')
    else if (this.#watchdog.noteInput(performance.now())) this.#fail('ffmpeg gives no output')
    else stdin.write(matroskaFrame(time, isKeyframe, data))
  }

  /** Ends the process after its remaining output. */
  async finish(): Promise<void> {
    if (!this.#hasEnded) {
      this.#hasEnded = true
      this.#process.stdin.end()
    }
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), FLUSH_TIMEOUT_MS)
    await this.#exited.promise
    clearTimeout(timer)
  }

  /** Kills the process and discards its remaining output. */
  kill(): void {
    this.#hasEnded = true
    this.#process.stdout.removeAllListeners('data').resume()
    this.#process.kill('SIGKILL')
  }

  #addStderr(text: string): void {
    this.#stderr.push(...text.split('\n').filter((line) => line.trim() !== ''))
    this.#stderr.splice(0, this.#stderr.length - MAX_STDERR_LINES)
  }

  #onExit(cause: string): void {
    this.#exited.resolve()
    if (!this.#hasEnded) this.#fail(`ffmpeg ended (${cause})`)
  }

  #fail(reason: string): void {
    this.kill()
    this.#options.onFailure(reason, this.#stderr)
  }
}
