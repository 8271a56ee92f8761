import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediaWorkError } from '../../../../../media/work/errors.ts'
import type { Foundation } from '../../../../foundation.ts'
import { fileKey, findAssets, localCopy } from '../../assets/index.ts'
import type { AiOutcome, NewTranscriptRow } from '../outcome.ts'
import { ProviderError } from '../providers/provider.ts'
import type { Providers } from '../providers/providers.ts'
import type { SpeechProvider } from '../providers/speech.ts'
import type { AiJobRow } from '../tables.ts'
import { joinPieces, type RecognizedPiece } from './segments.ts'
import { fromVtt } from './subtitles.ts'

interface Dependencies extends Pick<Foundation, 'database' | 'mediaWork' | 'scratch' | 'storage'> {
  readonly providers: Providers
}

interface Made {
  readonly transcript: NewTranscriptRow
  readonly creditsUsed: number
}

type Report = (fraction: number) => void

/** The share of extracting the sound in the progress. */
const SOUND_SHARE = 0.2
export const SECONDS_PER_CREDIT = 60

const NO_SUBTITLES =
  'The file has no embedded text subtitles, and this server has no speech recognition. Its administrator can configure it with `AI_WHISPER_MODEL`, or with `AI_BASE_URL` and `AI_TRANSCRIPTION_MODEL`.'

/** Makes transcripts of media files: of their sound by a model, or of the subtitles that are embedded in them. */
export class Transcriber {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws ProviderError */
  async write(row: AiJobRow, signal: AbortSignal, report: Report): Promise<AiOutcome> {
    const { database, providers, scratch, storage } = this.#dependencies
    const [asset] = row.assetId === null ? [] : await findAssets(database, row.workspaceId, [row.assetId])
    if (asset === undefined) throw new ProviderError('The asset was deleted.', false)
    const speech = await providers.speech(row)
    const folder = await mkdtemp(join(scratch, 'transcript-'))
    try {
      const path = await localCopy(storage, fileKey(row.workspaceId, asset.fileId), folder, signal)
      const { creditsUsed, transcript } =
        speech === undefined
          ? await this.#ofSubtitles(row, path, asset.seconds, signal)
          : await this.#ofSound(row, speech, { path, folder }, signal, report)
      return {
        state: 'done',
        creditsUsed: Math.min(row.creditsReserved, creditsUsed),
        captions: [],
        style: null,
        transcript,
        ignoredSettings: [],
      }
    } catch (error) {
      throw signal.aborted ? error : publicFault(error)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async #ofSubtitles(row: AiJobRow, path: string, seconds: number | null, signal: AbortSignal): Promise<Made> {
    const work = await this.#dependencies.mediaWork()
    const found = await work.subtitles(path, { language: row.request.language ?? undefined, signal })
    const segments = found === null ? [] : fromVtt(found.vtt)
    if (found === null || segments.length === 0) throw new ProviderError(NO_SUBTITLES, false)
    const durationSeconds = seconds ?? segments.at(-1)?.endSeconds ?? 0
    const about = { language: found.language, durationSeconds, origin: 'subtitles', model: null } as const
    return { transcript: { ...about, segments }, creditsUsed: 1 }
  }

  async #ofSound(
    row: AiJobRow,
    speech: SpeechProvider,
    { folder, path }: { readonly path: string; readonly folder: string },
    signal: AbortSignal,
    report: Report,
  ): Promise<Made> {
    const { model, request } = row
    if (model === null) throw new Error('a transcript by a model needs a model')
    const work = await this.#dependencies.mediaWork()
    const soundFolder = join(folder, 'sound')
    await mkdir(soundFolder)
    const { pieces, seconds } = await work.speech(path, soundFolder, {
      maxSeconds: speech.maxSeconds,
      signal,
      onProgress: ({ fraction }) => report(fraction * SOUND_SHARE),
    })
    const languages: string[] = []
    const recognized: RecognizedPiece[] = []
    for (const piece of pieces) {
      const { language, segments } = await speech.recognize(
        piece,
        { model, language: request.language ?? null },
        signal,
      )
      if (language !== null) languages.push(language)
      recognized.push({ start: piece.start, seconds: piece.seconds, segments })
      report(SOUND_SHARE + (recognized.length / pieces.length) * (1 - SOUND_SHARE))
    }
    const segments = joinPieces(recognized)
    const heard = pieces.reduce((sum, piece) => sum + piece.seconds, 0)
    const language = mostFrequent(languages) ?? request.language ?? null
    return {
      transcript: { language, durationSeconds: seconds, segments, origin: 'model', model },
      creditsUsed: Math.ceil(heard / SECONDS_PER_CREDIT),
    }
  }
}

function mostFrequent(languages: readonly string[]): string | undefined {
  const groups = [...Map.groupBy(languages, (language) => language)]
  return groups.toSorted(([, a], [, b]) => b.length - a.length)[0]?.[0]
}

/** Faults of media work have messages for users. */
function publicFault(error: unknown): unknown {
  const { message, name, retryable } = error as MediaWorkError
  return name === 'MediaWorkError' ? new ProviderError(message, retryable, error) : error
}
