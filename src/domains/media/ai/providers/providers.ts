import type { Outgoing } from '../../../../fetch/outgoing.ts'
import type { ProviderKey } from '../schemas.ts'
import { builtIn } from './built-in.ts'
import { openAiProvider } from './openai.ts'
import { ProviderError, type AiProvider } from './provider.ts'
import { openAiSpeech, type SpeechProvider } from './speech.ts'

export interface ProviderSettings {
  readonly AI_BASE_URL: string | undefined
  readonly AI_API_KEY: string | undefined
  readonly AI_MODELS: readonly string[] | undefined
  readonly AI_TRANSCRIPTION_MODEL: string | undefined
}

/** The providers of this server. */
export class Providers {
  /** The models that workspaces can choose, the default first. Empty without a provider of models. */
  readonly models: readonly string[]
  /** The model that recognizes speech. */
  readonly speechModel: string | undefined
  /** Undefined on a server without speech recognition. */
  readonly speech: SpeechProvider | undefined
  readonly #byKey: ReadonlyMap<ProviderKey, AiProvider>

  constructor(settings: ProviderSettings, outgoing: Outgoing) {
    const { AI_API_KEY: key, AI_BASE_URL: baseUrl, AI_MODELS: models = [], AI_TRANSCRIPTION_MODEL } = settings
    this.speechModel = AI_TRANSCRIPTION_MODEL
    this.speech =
      baseUrl === undefined || AI_TRANSCRIPTION_MODEL === undefined
        ? undefined
        : openAiSpeech({ baseUrl, key, outgoing })
    const isConfigured = baseUrl !== undefined && models.length > 0
    this.models = isConfigured ? models : []
    const remote = isConfigured ? [openAiProvider({ baseUrl, key, outgoing })] : []
    this.#byKey = new Map([builtIn, ...remote].map((provider) => [provider.key, provider]))
  }

  /** @throws ProviderError if the operator has removed it since the job was requested */
  require(key: ProviderKey): AiProvider {
    const provider = this.#byKey.get(key)
    if (provider === undefined)
      throw new ProviderError('The AI provider of this job is not configured any more.', false)
    return provider
  }
}
