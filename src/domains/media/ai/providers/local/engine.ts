import { fork } from 'node:child_process'
import { access, constants, open } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { availableParallelism, constants as system, setPriority } from 'node:os'
import { basename } from 'node:path'
import type { SpeechPiece } from '../../../../../../media/work/types.ts'
import { languageTag } from '../../transcripts/language.ts'
import { ProviderError } from '../provider.ts'
import type { Recognized, SpeechProvider, SpeechTask } from '../speech.ts'

/** Binds whisper.cpp. It is not a dependency, because it is large and few servers use it. */
export const ENGINE = '@fugood/whisper.node'
/** The major version that the code was written for. */
export const ENGINE_VERSION = '1'

/** Shorter than what other providers take, so that a piece that is repeated costs less time. */
const PIECE_SECONDS = 120
/** A model that needs longer than this for one second of sound is too large for the machine. */
const MAX_MS_PER_SECOND = 20_000
/** The start of a model of whisper.cpp: a magic number, and the size of the vocabulary (`whisper_model_load`). */
const MAGIC = 0x67676d6c
/** Multilingual models have at least one more token. */
const ENGLISH_VOCABULARY = 51_864
const ENTRY = new URL('engine-process.ts', import.meta.url)

/** What the process of the engine is asked for. */
export interface EngineTask {
  readonly engine: string
  readonly model: string
  readonly path: string
  /** Two or three letters. Null has the model find out. */
  readonly language: string | null
  readonly threads: number
}

/** What it replies. Times are in seconds. */
export type EngineReply =
  | {
      readonly language: string | null
      readonly segments: readonly { readonly start: number; readonly end: number; readonly text: string }[]
    }
  | { readonly fault: string }

export interface LocalEngine {
  /** The path of the model. */
  readonly model: string
  /** The module that binds the engine. */
  readonly engine?: string
}

/** The name of a model, which jobs store. */
export function localModelName({ model }: LocalEngine): string {
  return basename(model)
}

/**
 * Checks at the start of the server what speech recognition on this machine needs.
 * @throws Error that says what to do
 */
export async function requireLocalSpeech({ engine = ENGINE, model }: LocalEngine): Promise<void> {
  try {
    await access(model, constants.R_OK)
  } catch (error) {
    throw new Error(`AI_WHISPER_MODEL: there is no readable file ${model}. It is the path of a model of whisper.cpp.`, {
      cause: error,
    })
  }
  try {
    createRequire(import.meta.url).resolve(engine)
  } catch (error) {
    throw new Error(
      `AI_WHISPER_MODEL: the package ${engine} is not installed. Run npm install --no-save ${engine}@${ENGINE_VERSION} in the folder of Crier.`,
      { cause: error },
    )
  }
}

/**
 * Speech recognition on this machine by whisper.cpp. Each piece runs in a separate process with low priority: a model that
 * crashes or needs too much memory fails only its piece, and the memory is free between jobs.
 */
export function localSpeech({ engine = ENGINE, model }: LocalEngine): SpeechProvider {
  return {
    maxSeconds: PIECE_SECONDS,
    recognize: async (piece, task, signal) => {
      const asked = task.language === null ? null : new Intl.Locale(task.language).language
      // An English-only model names an arbitrary language if it has to detect one, and invents English words for
      // others.
      const language = (await knowsOnlyEnglish(model)) ? 'en' : asked
      if (language !== asked && asked !== null) throw new ProviderError(ONLY_ENGLISH, false)
      const threads = Math.max(1, availableParallelism() - 1)
      const reply = await run({ engine, model, path: piece.path, language, threads }, piece, signal)
      if ('fault' in reply) throw fault(reply.fault)
      return recognizedIn(reply, task)
    },
  }
}

const ONLY_ENGLISH =
  'The speech recognition of this server knows English only. Ask for it without a language, or for English.'

async function knowsOnlyEnglish(model: string): Promise<boolean> {
  const file = await open(model)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(8), 0, 8, 0)
    return bytesRead === 8 && buffer.readUInt32LE(0) === MAGIC && buffer.readInt32LE(4) === ENGLISH_VOCABULARY
  } finally {
    await file.close()
  }
}

function recognizedIn(reply: Exclude<EngineReply, { fault: string }>, task: SpeechTask): Recognized {
  return {
    language: languageTag(reply.language) ?? task.language,
    segments: reply.segments.map(({ end, start, text }) => ({
      startSeconds: start,
      endSeconds: end,
      text,
      speaker: null,
    })),
  }
}

/** @throws ProviderError */
function run(task: EngineTask, { seconds }: SpeechPiece, signal: AbortSignal): Promise<EngineReply> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = fork(ENTRY, [], {
      env: {},
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const timer = setTimeout(() => stop(fault('it took too long')), Math.max(60, seconds) * MAX_MS_PER_SECOND)
    const onAbort = () => stop(signal.reason as Error)
    const stop = (error: Error) => {
      child.kill('SIGKILL')
      reject(error)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    child.once('spawn', () => {
      lowerPriority(child.pid)
      child.send(task)
    })
    child.once('message', (reply) => resolve(reply as EngineReply))
    child.once('error', (error) => reject(fault(error.message)))
    child.once('exit', (code, ended) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      // Without effect after a reply.
      reject(fault(`its process ended with ${ended ?? code}`))
    })
  })
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, system.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended.
  }
}

function fault(why: string): ProviderError {
  return new ProviderError(`The speech recognition of this server failed: ${why}.`, true)
}
