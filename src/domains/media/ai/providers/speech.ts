import { readFile } from 'node:fs/promises'
import { Compile } from 'typebox/compile'
import type { SpeechPiece } from '../../../../../media/work/types.ts'
import { Nullable, Type } from '../../../../core/schema.ts'
import { OutgoingError, type OutgoingReply } from '../../../../fetch/outgoing.ts'
import { languageTag } from '../transcripts/language.ts'
import type { Segment } from '../transcripts/segments.ts'
import { connectionFault, isPage, MAX_PAUSE_MS, pageFault, statusFault, type ProviderOwner } from './faults.ts'
import type { OpenAiSettings } from './openai.ts'
import { ProviderError } from './provider.ts'
import { parseForeignJson } from '../../../../tools/clean-text.ts'

export interface SpeechTask {
  readonly model: string
  /** A language tag. Null has the model find out. */
  readonly language: string | null
}

export interface Recognized {
  readonly language: string | null
  /** Times are from the beginning of the piece. */
  readonly segments: readonly Segment[]
}

/** What recognizes speech. */
export interface SpeechProvider {
  /** The longest piece that it takes, in seconds. */
  readonly maxSeconds: number
  /** @throws ProviderError */
  readonly recognize: (piece: SpeechPiece, task: SpeechTask, signal: AbortSignal) => Promise<Recognized>
}

/** Five minutes of FLAC have about 5 MB. OpenAI accepts 25 MB. */
const PIECE_SECONDS = 300
const TIMEOUT_MS = 300_000
const MAX_BYTES = 4_000_000
/** How often a piece is sent again after a fault that may be temporary. More are attempts of the job. */
const REPEATS = 2

const Reply = Compile(
  Type.Object({
    text: Type.String({ maxLength: 200_000 }),
    language: Type.Optional(Nullable(Type.String({ maxLength: 100 }))),
    segments: Type.Optional(
      Nullable(
        Type.Array(
          Type.Object({
            start: Type.Number(),
            end: Type.Number(),
            text: Type.String({ maxLength: 20_000 }),
            speaker: Type.Optional(Nullable(Type.String({ maxLength: 100 }))),
          }),
          { maxItems: 20_000 },
        ),
      ),
    ),
  }),
)

/** Speech recognition by an OpenAI-compatible API (`/audio/transcriptions`). */
export function openAiSpeech({
  baseUrl,
  idleMs = MAX_PAUSE_MS,
  key,
  outgoing,
  owner,
  rules,
}: OpenAiSettings): SpeechProvider {
  const url = `${baseUrl.replace(/\/$/, '')}/audio/transcriptions`
  const ask = async (body: Blob, signal: AbortSignal) => {
    try {
      return await outgoing.send(
        {
          method: 'POST',
          url,
          headers: { 'content-type': body.type, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
          body: await body.bytes(),
          maxBytes: MAX_BYTES,
          timeoutMs: TIMEOUT_MS,
          idleMs,
          signal,
        },
        rules,
      )
    } catch (error) {
      signal.throwIfAborted()
      throw connectionFault(error instanceof OutgoingError ? error.fault : undefined, error)
    }
  }
  return {
    maxSeconds: PIECE_SECONDS,
    recognize: async (piece, task, signal) => {
      const body = await formOf(piece, task)
      for (let repeat = 0; ; repeat += 1) {
        try {
          return recognizedIn(await ask(body, signal), piece, owner)
        } catch (error) {
          signal.throwIfAborted()
          const isOver = !(error instanceof ProviderError) || !error.retryable || repeat === REPEATS
          if (isOver || error.message.includes('too many requests')) throw error
        }
      }
    },
  }
}

async function formOf({ path }: SpeechPiece, { language, model }: SpeechTask): Promise<Blob> {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(await readFile(path))], { type: 'audio/flac' }), 'piece.flac')
  form.set('model', model)
  // Models that tell speakers apart use another format.
  form.set('response_format', model.includes('diarize') ? 'diarized_json' : 'verbose_json')
  if (language !== null) form.set('language', new Intl.Locale(language).language)
  return new Response(form).blob()
}

/** @throws ProviderError */
function recognizedIn({ bytes, headers, status }: OutgoingReply, piece: SpeechPiece, owner: ProviderOwner): Recognized {
  if (status < 200 || status >= 300) throw statusFault(status, owner)
  const body = bytes.toString('utf8')
  if (isPage(headers['content-type'] ?? '', body.slice(0, 100))) throw pageFault()
  const reply = jsonOf(body)
  if (!Reply.Check(reply)) throw new ProviderError('The AI provider sent a broken reply.', true)
  const { language, segments, text } = reply
  const whole = [{ start: 0, end: piece.seconds, text, speaker: null }]
  return {
    language: languageTag(language),
    // A model that reports no times gives one segment for the piece.
    segments: (segments ?? whole).map(({ end, speaker, start, text: words }) => ({
      startSeconds: start,
      endSeconds: end,
      text: words,
      speaker: speaker ?? null,
    })),
  }
}

function jsonOf(text: string): unknown {
  try {
    return parseForeignJson(text)
  } catch {
    return undefined
  }
}
