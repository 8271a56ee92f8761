import { Piscina } from 'piscina'
import { MediaWorkError } from '../errors.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { HeicDecoded, HeicInfo, HeicInput } from './heic.ts'
import type { PdfInput, PdfPage } from './pdf.ts'
import type { PeaksInput } from './peaks.ts'

/** Heap limit of a thread. Memory of WebAssembly is outside of the heap and counts for the process. */
const HEAP_MEGABYTES = 512
const IDLE_MS = 20_000

/**
 * Threads for work in JavaScript and WebAssembly. sharp does not use them: it already runs in libuv's threads, and is a
 * third slower here.
 */
export class Threads {
  readonly #pool: Piscina

  constructor(limits: MediaWorkLimits) {
    this.#pool = new Piscina({
      minThreads: 0,
      maxThreads: Math.max(1, Math.floor(limits.quickConcurrency / 2)),
      // The lane never runs more jobs than this.
      maxQueue: limits.quickConcurrency,
      idleTimeout: IDLE_MS,
      atomics: 'disabled',
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    })
  }

  heicInfo(input: HeicInput, signal: AbortSignal): Promise<HeicInfo> {
    return this.#run('heic', 'info', input, signal)
  }

  heic(input: HeicInput, signal: AbortSignal): Promise<HeicDecoded> {
    return this.#run('heic', 'decode', input, signal)
  }

  pdf(input: PdfInput, signal: AbortSignal): Promise<PdfPage> {
    return this.#run('pdf', 'firstPage', input, signal)
  }

  peaks(input: PeaksInput, signal: AbortSignal): Promise<number[]> {
    return this.#run('peaks', 'peaks', input, signal)
  }

  /** Runs a task. Aborting it ends its thread, so that no work continues. */
  async #run<Result>(file: string, name: string, input: object, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted()
    const filename = new URL(`${file}.ts`, import.meta.url).href
    try {
      return (await this.#pool.run(input, { filename, name, signal })) as Result
    } catch (error) {
      signal.throwIfAborted()
      throw asMediaWorkError(error)
    }
  }
}

/** Restores a MediaWorkError. Errors lose their class between threads, so the code is at the start of the message. */
function asMediaWorkError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new MediaWorkError('memory_limit', 'The file needs more memory than the limit.', { cause: error })
  }
  const [, code, message] = /^(unsupported|damaged|too_large): (.*)$/.exec(error.message) ?? []
  if (code === undefined || message === undefined) return error
  return new MediaWorkError(code as 'unsupported' | 'damaged' | 'too_large', message, { cause: error })
}
