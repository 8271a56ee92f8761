import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import type { MediaLog } from '../../types.ts'
import { FlvReader, type FlvTag } from '../../rtmp/flv-reader.ts'
import { matroskaFrame, matroskaHead, type CodedTrack } from './matroska.ts'

export interface TranscoderOptions {
  /** Of ffmpeg. */
  readonly path: string
  readonly args: readonly string[]
  readonly track: CodedTrack
  /** Time 0 of what ffmpeg gets to see, milliseconds on the session's line. */
  readonly origin: number
  /** Tags as they come out, on the session's line. */
  readonly onTag: (tag: FlvTag) => void
  /** It ended though nobody asked it to. */
  readonly onFailure: (reason: string) => void
  readonly log: MediaLog
  /** For log lines. */
  readonly sessionId: string
}

/** What ffmpeg has not read; more means that it does not keep up. */
const MOST_WAITING_BYTES = 8 * 1024 * 1024
/** How long it may take to hand out what it has, at the end. */
const FLUSH_MS = 1_500
/** It was handed so many frames, over this time, and has given nothing out: it hangs. */
const HANG = { frames: 100, ms: 10_000 } as const
const LINES_KEPT = 10

/** One ffmpeg that turns a track into what RTMP carries. */
export class Transcoder {
  readonly #options: TranscoderOptions
  readonly #process: ChildProcessWithoutNullStreams
  readonly #exited = Promise.withResolvers<void>()
  readonly #said: string[] = []
  #over = false
  /** Frames since the last tag came out, and when the first of them was handed over (monotonic). */
  #owed = { frames: 0, since: 0 }

  constructor(options: TranscoderOptions) {
    const { args, onTag, origin, path, track } = options
    this.#options = options
    this.#process = spawn(path, args, { stdio: 'pipe', env: {} })
    const reader = new FlvReader(({ body, timestamp, type }) => {
      this.#owed.frames = 0
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
    if (stdin.writableLength > MOST_WAITING_BYTES) {
      this.#fail('ffmpeg does not keep up')
      return
    }
    const now = performance.now()
    if (this.#owed.frames === 0) this.#owed.since = now
    this.#owed.frames += 1
    if (this.#owed.frames > HANG.frames && now - this.#owed.since > HANG.ms) {
      this.#fail('ffmpeg gives nothing out')
      return
    }
    stdin.write(matroskaFrame(time, isKeyframe, data))
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
    const { log, onFailure, sessionId } = this.#options
    log.warn({ sessionId, reason, said: this.#said }, 'a whip session cannot be transcoded')
    this.kill()
    onFailure(reason)
  }
}
