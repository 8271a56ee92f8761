import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  jsonSchema,
  Output,
  NoObjectGeneratedError,
  NoOutputGeneratedError,
  streamText,
  type ModelMessage,
  type Schema,
} from 'ai'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Input, Type, type Static } from '../../../../core/schema.ts'
import { OutgoingError, type Outgoing } from '../../../../fetch/outgoing.ts'
import type { TargetRules } from '../../../../fetch/target.ts'
import type { CaptionDraft } from '../text/polish.ts'
import { connectionFault, statusFault, type ProviderOwner } from './faults.ts'
import { providerFetch } from './provider-fetch.ts'
import { ANALYSIS_PROMPT, CAPTION_PROMPT, fill, MAX_SENTENCES } from './prompts.ts'
import { ProviderError, type AiProvider, type CaptionTask, type Drafts, type PartialReply } from './provider.ts'

export interface OpenAiSettings {
  readonly baseUrl: string
  readonly key: string | undefined
  readonly outgoing: Outgoing
  /** Which addresses are allowed; the rules of `outgoing` when undefined. */
  readonly rules: TargetRules | undefined
  /** Who has configured it, for messages. */
  readonly owner: ProviderOwner
  /** How long the provider may pause within a reply, in milliseconds. Default 30,000 */
  readonly idleMs?: number
}

/** How often the model is asked again after a reply that does not fit the schema. */
const REPEATS = 2
const MAX_TOKENS = 4_000
/** Characters of an incomplete reply that are passed on. */
const MAX_PARTIAL = 20_000
/** Parts of long texts are left out. */
const MAX_TEXT = 12_000
const MAX_EXAMPLE = 500
const EXAMPLES = 5

const CaptionReply = Input({
  captions: Type.Array(
    Input({
      title: Type.String({ maxLength: 300 }),
      text: Type.String({ minLength: 1, maxLength: 10_000 }),
      hashtags: Type.Array(Type.String({ maxLength: 100 }), { maxItems: 40 }),
    }),
    { minItems: 1, maxItems: 10 },
  ),
})
type CaptionReplyData = Static<typeof CaptionReply>

const AnalysisReply = Input({
  sentences: Type.Array(
    Input({
      text: Type.String({ minLength: 1, maxLength: 1_000 }),
      factNumbers: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 50 }),
    }),
    { minItems: 1, maxItems: 50 },
  ),
})
type AnalysisReplyData = Static<typeof AnalysisReply>

const CAPTIONS = replySchema<CaptionReplyData>(CaptionReply)
const ANALYSIS = replySchema<AnalysisReplyData>(AnalysisReply)

/** Checks replies of a model, and says what does not fit. */
function replySchema<T>(schema: TSchema) {
  const compiled = Compile(schema)
  return jsonSchema<T>(schema, {
    validate: (value) => {
      if (compiled.Check(value)) return { success: true, value: value as T }
      const [first] = compiled.Errors(value)
      const what = first === undefined ? 'unknown' : `${first.instancePath} ${first.message}`
      return { success: false, error: new Error(what) }
    },
  })
}

/** Captions and analyses by a model behind an OpenAI-compatible API. The model has no tools. */
export function openAiProvider({ baseUrl, idleMs, key, outgoing, owner, rules }: OpenAiSettings): AiProvider {
  const provider = createOpenAICompatible({
    name: 'openai_compatible',
    baseURL: baseUrl,
    ...(key !== undefined && { apiKey: key }),
    supportsStructuredOutputs: true,
    fetch: providerFetch(outgoing, rules, idleMs),
  })
  /** One reply. */
  const ask = async <T>(schema: Schema<T>, request: ModelRequest, messages: ModelMessage[], signal: AbortSignal) => {
    let failure: unknown
    const result = streamText({
      model: provider(request.model),
      instructions: request.system,
      messages,
      output: Output.object({ schema }),
      maxOutputTokens: MAX_TOKENS,
      // Crier repeats requests itself: replies that do not fit here, and faults as attempts of the job.
      maxRetries: 0,
      abortSignal: signal,
      onError: ({ error }) => {
        failure ??= error
      },
    })
    try {
      for await (const partial of result.partialOutputStream) request.onPartial(textsIn(partial))
      signal.throwIfAborted()
      if (failure === undefined && (await result.finishReason) === 'content-filter') throw refused()
      return await result.output
    } catch (error) {
      throw failure ?? error
    }
  }
  /** A reply that fits. The model is asked again if it does not. */
  const askUntilFit = async <T>(schema: Schema<T>, request: ModelRequest, signal: AbortSignal): Promise<T> => {
    const asked: ModelMessage = { role: 'user', content: request.document }
    const messages = [asked]
    for (let repeat = 0; ; repeat += 1) {
      try {
        return await ask(schema, request, messages, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof ProviderError) throw error
        const isUnfit = NoObjectGeneratedError.isInstance(error) || NoOutputGeneratedError.isInstance(error)
        if (!isUnfit) throw faultOf(error, owner)
        if (repeat === REPEATS) {
          const message = 'The model did not reply in the expected form, also when asked again.'
          throw new ProviderError(message, false, error)
        }
        const why = error.cause instanceof Error ? error.cause.message : 'it is not valid JSON'
        const correction = `The reply does not fit the schema: ${why.slice(0, 500)}. Reply with one JSON document that fits.`
        messages.splice(1, messages.length, { role: 'user', content: correction })
      }
    }
  }
  return {
    key: 'openai_compatible',
    origin: 'model',
    captions: async (task, signal, onPartial) => {
      const request = {
        model: modelOf(task),
        system: systemOf(task),
        document: documentOf(task),
        onPartial: reporter(onPartial, '\n\n'),
      }
      const { captions } = await askUntilFit(CAPTIONS, request, signal)
      return draftsOf(captions, task)
    },
    analysis: async (task, signal, onPartial) => {
      const { language, tone } = task.settings
      const system = fill(ANALYSIS_PROMPT, { language, tone, sentenceCount: MAX_SENTENCES })
      const facts = task.facts.map(({ factNumber, statement }) => ({ factNumber, statement }))
      const document = JSON.stringify({ question: task.question, facts })
      const { sentences } = await askUntilFit(
        ANALYSIS,
        { model: modelOf(task), system, document, onPartial: reporter(onPartial, ' ') },
        signal,
      )
      return { sentences, ignoredSettings: [], promptVersion: ANALYSIS_PROMPT.version }
    },
  }
}

/** What a model is sent. */
interface ModelRequest {
  readonly model: string
  readonly system: string
  /** The data, as JSON. */
  readonly document: string
  readonly onPartial: (texts: readonly string[]) => void
}

/** Passes on what a model has written so far. */
function reporter(onPartial: ((reply: PartialReply) => void) | undefined, separator: string) {
  return (texts: readonly string[]) => {
    if (texts.length > 0) onPartial?.({ count: texts.length, text: texts.join(separator).slice(0, MAX_PARTIAL) })
  }
}

/** The texts in an incomplete reply: of captions, or of sentences. It may have any shape. */
function textsIn(partial: unknown): string[] {
  if (typeof partial !== 'object' || partial === null) return []
  const [items] = Object.values(partial)
  if (!Array.isArray(items)) return []
  return items.flatMap((item: unknown) => {
    const text = typeof item === 'object' && item !== null && 'text' in item ? item.text : undefined
    return typeof text === 'string' && text !== '' ? [text] : []
  })
}

function modelOf({ model }: { readonly model: string | null }): string {
  if (model === null) throw new Error('a text by a model needs a model')
  return model
}

function draftsOf(captions: CaptionReplyData['captions'], { variantCount }: CaptionTask): Drafts {
  const drafts = captions
    .slice(0, variantCount)
    .map(({ hashtags, text, title }): CaptionDraft => ({ title: title.trim() === '' ? null : title, text, hashtags }))
  return { drafts, ignoredSettings: [], promptVersion: CAPTION_PROMPT.version }
}

function systemOf({ settings, variantCount }: CaptionTask): string {
  const { bannedWords, emoji, hashtagCount, language, tone } = settings
  return fill(CAPTION_PROMPT, { variantCount, language, tone, emoji, hashtagCount, bannedWords })
}

/** The texts of users as one JSON document, which keeps them apart from the instructions. */
function documentOf({ subject: { asset, past, text } }: CaptionTask): string {
  return JSON.stringify({
    text: text?.slice(0, MAX_TEXT) ?? null,
    asset,
    usualHashtags: past.hashtags.slice(0, 20).map(({ hashtag }) => hashtag),
    examples: past.examples.slice(0, EXAMPLES).map((example) => example.slice(0, MAX_EXAMPLE)),
  })
}

function faultOf(error: unknown, owner: ProviderOwner): ProviderError {
  const known = findCause(error, ProviderError)
  if (known !== undefined) return known
  const fault = findCause(error, OutgoingError)
  if (fault === undefined && APICallError.isInstance(error)) return statusFault(error.statusCode, owner, error)
  return connectionFault(fault?.fault, error)
}

function refused(): ProviderError {
  return new ProviderError('The model refused to write about this.', false)
}

function findCause<T extends Error>(error: unknown, kind: new (...given: never[]) => T): T | undefined {
  for (let one = error; one instanceof Error; one = one.cause) if (one instanceof kind) return one
  return undefined
}
