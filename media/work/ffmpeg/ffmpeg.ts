import type { Readable, Writable } from 'node:stream'
import createCommand, { type FfmpegCommand } from 'fluent-ffmpeg'
import { MediaWorkError } from '../errors.ts'
import { residentBytes } from '../process/memory.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { Progress } from '../types.ts'
import { failureOf } from './failure.ts'
import { ProgressReader } from './progress.ts'

/**
 * The only file that imports fluent-ffmpeg, which is no longer maintained. It assembles the arguments, starts the program
 * and reads its output. Its other child processes (lists of codecs, ffprobe) are disabled.
 */

export interface FfmpegJob {
  /** The path of a file of a user, or Matroska that this process writes. */
  readonly input: string | Readable
  /** Further inputs, files of users. */
  readonly sounds?: readonly { readonly path: string; readonly inputOptions: readonly string[] }[]
  /** Options before the input, such as the start time. */
  readonly inputOptions?: readonly string[]
  /** Options after the input, without the name of the output. They end with `-f` and a format. */
  readonly outputOptions: readonly string[]
  readonly output: string | Writable
  /** Working directory, for outputs of several files. */
  readonly cwd?: string
  readonly signal: AbortSignal
  /** Duration of the output. Without it, no progress is reported. */
  readonly seconds?: number
  readonly onProgress?: (progress: Progress) => void
  /** Maximum size of an output file in bytes. Defaults to that of the limits. */
  readonly outputBytes?: number
}

export interface FfmpegPaths {
  readonly ffmpegPath: string | undefined
  readonly ffprobePath: string | undefined
  readonly limits: MediaWorkLimits
}

/**
 * The allowed demuxers. Without this list, a playlist (HLS, DASH, concat) named as a video makes ffmpeg open other files of
 * the machine. The protocol whitelist alone does not prevent that.
 */
const FORMATS =
  'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,flv,mpeg,mpegts,mpegvideo,ogg,asf,mp3,aac,wav,w64,flac,aiff,amr,gif,apng,webp_pipe'
/** Input options of every ffmpeg and ffprobe: only files, and only the allowed containers. */
export const INPUT_GUARD: readonly string[] = ['-protocol_whitelist', 'file,pipe', '-format_whitelist', FORMATS]
/** The first frame is read at once, not also the next ones to guess what is in the stream. */
const STREAM_GUARD = ['-protocol_whitelist', 'pipe', '-f', 'matroska', '-probesize', '32', '-analyzeduration', '0']

/** Address space is larger than resident memory, because of libraries, thread stacks and arenas. */
const ADDRESS_SPACE_FACTOR = 3
const MEMORY_CHECK_MS = 200
const MAX_LINES = 40

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
      throw new MediaWorkError(
        'unavailable',
        'This server has no ffmpeg to process video and audio. Its operator has to install it (Debian: apt-get install ffmpeg).',
      )
    }
    return ffmpegPath
  }

  get probePath(): string | undefined {
    return this.#paths.ffprobePath
  }

  /**
   * Runs ffmpeg to its end. The program has ended when the promise settles.
   * @returns its log at level `info` and above, without the progress
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
      if (reader.read(line)) {
        const progress = reader.progress()
        if (progress !== null) job.onProgress?.(progress)
        return
      }
      lines.push(line)
      if (lines.length > MAX_LINES) lines.shift()
    })
    const kill = () => command.kill('SIGKILL')
    const memoryCheck = setInterval(() => {
      const pid = (command as unknown as Internals).ffmpegProc?.pid
      if (pid === undefined || (residentBytes(pid) ?? 0) <= limits.ffmpegBytes) return
      overMemory = true
      kill()
    }, MEMORY_CHECK_MS)
    job.signal.addEventListener('abort', kill, { once: true })
    try {
      await new Promise<void>((resolve, reject) => {
        command.once('end', () => resolve()).once('error', reject)
        command.run()
      })
    } catch (error) {
      job.signal.throwIfAborted()
      if (overMemory) throw new MediaWorkError('memory_limit', 'The file needs more memory than the limit.')
      throw failureOf((error as Error).message, lines)
    } finally {
      clearInterval(memoryCheck)
      job.signal.removeEventListener('abort', kill)
    }
    return lines.join('\n')
  }

  #command(job: FfmpegJob): FfmpegCommand {
    const { cwd, input, inputOptions = [], output, outputBytes, outputOptions, sounds = [] } = job
    const { limits } = this.#paths
    const threads = String(limits.ffmpegThreads)
    const command = createCommand({ stdoutLines: 1, ...(cwd === undefined ? {} : { cwd }) })
      .input(typeof input === 'string' ? `file:${input}` : input)
      .inputOptions('-threads', threads, ...(typeof input === 'string' ? INPUT_GUARD : STREAM_GUARD), ...inputOptions)
    for (const sound of sounds) command.input(`file:${sound.path}`).inputOptions(...INPUT_GUARD, ...sound.inputOptions)
    command.output(output).outputOptions('-threads', threads, ...outputOptions)
    const internals = command as unknown as Internals
    const global = ['-hide_banner', '-nostdin', '-nostats', '-loglevel', 'level+info', '-progress', 'pipe:2']
    const args = () => [...global, ...internals._getArguments()]
    // fluent-ffmpeg's own preparation would run ffmpeg for codecs and formats, and ffprobe for the duration.
    const path = this.path
    if (process.platform === 'win32') {
      internals._getFfmpegPath = (done) => done(null, path)
      internals._prepare = (done) => done(null, args())
    } else {
      internals._getFfmpegPath = (done) => done(null, '/bin/sh')
      const ulimits = shellLimits(limits, outputBytes ?? limits.outputBytes)
      internals._prepare = (done) => done(null, ['-c', `${ulimits}; exec "$0" "$@"`, path, ...args()])
    }
    return command
  }
}

/** The kernel enforces these limits even if the work process is gone. `ulimit -f` counts units of 512 bytes (POSIX). */
function shellLimits(limits: MediaWorkLimits, outputBytes: number): string {
  const addressKilobytes = Math.ceil((limits.ffmpegBytes * ADDRESS_SPACE_FACTOR) / 1024)
  const cpuSeconds = Math.ceil(limits.longSeconds * limits.ffmpegThreads)
  return `ulimit -c 0; ulimit -f ${Math.ceil(outputBytes / 512)}; ulimit -v ${addressKilobytes}; ulimit -t ${cpuSeconds}`
}
