import createCommand, { type FfmpegCommand } from 'fluent-ffmpeg'
import { MediaWorkError } from '../errors.ts'
import { residentBytes } from '../process/memory.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { Progress } from '../types.ts'
import { failureOf } from './failure.ts'
import { ProgressReader } from './progress.ts'

/**
 * The only file that knows fluent-ffmpeg, which nobody maintains any more. It assembles the arguments, starts the
 * program and reads what it says; what it would start besides (listings of codecs, ffprobe) is switched off.
 */

export interface FfmpegJob {
  readonly input: string
  /** Before the input: where to begin, what to leave out. */
  readonly inputOptions?: readonly string[]
  /** Everything after the input but the output's name; ends in `-f` and a format. */
  readonly outputOptions: readonly string[]
  readonly output: string
  /** Where it runs, for outputs of many files. */
  readonly cwd?: string
  readonly signal: AbortSignal
  /** Of the result, for the progress; without it there is none. */
  readonly seconds?: number
  readonly onProgress?: (progress: Progress) => void
  /** Bytes of the largest file that may be written; the limits' by default. */
  readonly outputBytes?: number
}

export interface FfmpegPaths {
  readonly ffmpegPath: string | undefined
  readonly ffprobePath: string | undefined
  readonly limits: MediaWorkLimits
}

/**
 * Demuxers that may be chosen. Without it a playlist (HLS, DASH, concat) in a file that calls itself a video makes ffmpeg
 * open other files of the machine; the protocols alone do not prevent that.
 */
const FORMATS =
  'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,flv,mpeg,mpegts,mpegvideo,ogg,asf,mp3,aac,wav,w64,flac,aiff,amr,gif,apng,webp_pipe'
/** What every ffmpeg and ffprobe gets before its input: files only, and no other kind of container. */
export const INPUT_GUARD: readonly string[] = ['-protocol_whitelist', 'file,pipe', '-format_whitelist', FORMATS]

/** Address space is more than what is resident: libraries, stacks of threads, arenas. */
const ADDRESS_SPACE_FACTOR = 3
const WATCH_MS = 200
const LINES_KEPT = 40

interface Internals {
  _prepare(done: (error: Error | null, args: string[]) => void): void
  _getArguments(): string[]
  _getFfmpegPath(done: (error: Error | null, path: string) => void): void
  ffmpegProc?: { readonly pid?: number | undefined }
}

export class Ffmpeg {
  readonly #paths: FfmpegPaths

  constructor(paths: FfmpegPaths) {
    this.#paths = paths
  }

  /** @throws MediaWorkError `unavailable` */
  get path(): string {
    const { ffmpegPath } = this.#paths
    if (ffmpegPath === undefined) {
      throw new MediaWorkError('unavailable', 'There is no ffmpeg for video and sound on this server.')
    }
    return ffmpegPath
  }

  get probePath(): string | undefined {
    return this.#paths.ffprobePath
  }

  /**
   * Runs ffmpeg to its end and returns what it logged at level `info` and worse, without its progress. Whatever
   * happens, the program has ended when this settles.
   * @throws MediaWorkError
   */
  async run(job: FfmpegJob): Promise<string> {
    job.signal.throwIfAborted()
    const { limits } = this.#paths
    const command = this.#command(job)
    const lines: string[] = []
    const reader = new ProgressReader(job.seconds ?? 0)
    let overMemory = false
    command.on('stderr', (line: string) => {
      if (reader.take(line)) {
        const progress = reader.progress()
        if (progress !== null) job.onProgress?.(progress)
        return
      }
      lines.push(line)
      if (lines.length > LINES_KEPT) lines.shift()
    })
    const kill = () => command.kill('SIGKILL')
    const watch = setInterval(() => {
      const pid = (command as unknown as Internals).ffmpegProc?.pid
      if (pid === undefined || (residentBytes(pid) ?? 0) <= limits.ffmpegBytes) return
      overMemory = true
      kill()
    }, WATCH_MS)
    job.signal.addEventListener('abort', kill, { once: true })
    try {
      await new Promise<void>((resolve, reject) => {
        command.once('end', () => resolve()).once('error', reject)
        command.run()
      })
    } catch (error) {
      job.signal.throwIfAborted()
      if (overMemory) throw new MediaWorkError('memory_limit', 'It takes more memory than is allowed.')
      throw failureOf((error as Error).message, lines)
    } finally {
      clearInterval(watch)
      job.signal.removeEventListener('abort', kill)
    }
    return lines.join('\n')
  }

  #command({ input, inputOptions = [], outputOptions, output, cwd, outputBytes }: FfmpegJob): FfmpegCommand {
    const { limits } = this.#paths
    const threads = String(limits.ffmpegThreads)
    const command = createCommand({ stdoutLines: 1, ...(cwd === undefined ? {} : { cwd }) })
      .input(`file:${input}`)
      .inputOptions('-threads', threads, ...INPUT_GUARD, ...inputOptions)
      .output(output)
      .outputOptions('-threads', threads, ...outputOptions)
    const internals = command as unknown as Internals
    const global = ['-hide_banner', '-nostdin', '-nostats', '-loglevel', 'level+info', '-progress', 'pipe:2']
    const args = () => [...global, ...internals._getArguments()]
    // Its own preparation asks ffmpeg for its codecs and formats, and ffprobe for the length: known here already.
    const path = this.path
    if (process.platform === 'win32') {
      internals._getFfmpegPath = (done) => done(null, path)
      internals._prepare = (done) => done(null, args())
    } else {
      internals._getFfmpegPath = (done) => done(null, '/bin/sh')
      const bounds = shellLimits(limits, outputBytes ?? limits.outputBytes)
      internals._prepare = (done) => done(null, ['-c', `${bounds}; exec "$0" "$@"`, path, ...args()])
    }
    return command
  }
}

/** Held by the kernel, so that they hold also for an ffmpeg that nobody watches any more. POSIX counts files in 512 bytes. */
function shellLimits(limits: MediaWorkLimits, outputBytes: number): string {
  const addressKilobytes = Math.ceil((limits.ffmpegBytes * ADDRESS_SPACE_FACTOR) / 1024)
  const cpuSeconds = Math.ceil(limits.longSeconds * limits.ffmpegThreads)
  return `ulimit -c 0; ulimit -f ${Math.ceil(outputBytes / 512)}; ulimit -v ${addressKilobytes}; ulimit -t ${cpuSeconds}`
}
