import { Piscina } from 'piscina'
import { MediaWorkError } from '../errors.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { HeicDecoded, HeicInfo, HeicInput } from './heic.ts'
import type { PdfInput, PdfPage } from './pdf.ts'
import type { PeaksInput } from './peaks.ts'

/** Where a thread's heap ends; what WebAssembly takes is outside it and counts for the process. */
const HEAP_MEGABYTES = 512
const IDLE_MS = 20_000

/**
 * Threads for what is computed in JavaScript and WebAssembly. Not for sharp: its work is in threads of libuv already, and
 * comes out a third slower through these.
 */
export class Threads {
  readonly #pool: Piscina

  constructor(limits: MediaWorkLimits) {
    this.#pool = new Piscina({
      minThreads: 0,
      maxThreads: Math.max(1, Math.floor(limits.quickConcurrency / 2)),
      // No more than the lane lets in.
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

  /** A task that is aborted while it runs takes its thread with it: nothing of it goes on. */
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

/** Errors lose their class on the way out of a thread; those of ours keep the code in front of the message. */
function asMediaWorkError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new MediaWorkError('memory_limit', 'It takes more memory than is allowed.', { cause: error })
  }
  const [, code, message] = /^(unsupported|damaged|too_large): (.*)$/.exec(error.message) ?? []
  if (code === undefined || message === undefined) return error
  return new MediaWorkError(code as 'unsupported' | 'damaged' | 'too_large', message, { cause: error })
}
