import type { Sql } from '../../../../core/sql.ts'
import type { Outgoing } from '../../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../../fetch/target.ts'
import type { AiConnections } from '../connection/connections.ts'
import type { ProviderKey } from '../schemas.ts'
import type { AiJobRow } from '../tables.ts'
import { builtIn } from './built-in.ts'
import { localModelName, localSpeech, type LocalEngine } from './local/engine.ts'
import type { OpenAiSettings } from './openai.ts'
import { ProviderError, type AiProvider } from './provider.ts'
import { openAiSpeech, type SpeechProvider } from './speech.ts'

export interface ProviderSettings {
  readonly AI_BASE_URL: string | undefined
  readonly AI_API_KEY: string | undefined
  readonly AI_MODELS: readonly string[] | undefined
  readonly AI_TRANSCRIPTION_MODEL: string | undefined
  readonly AI_WHISPER_MODEL: string | undefined
}

/** What a workspace can use. A part is undefined if only the built-in provider can do it. */
export interface Available {
  /** Providers of texts, with the default model first. */
  readonly texts: { readonly provider: ProviderKey; readonly models: readonly string[] } | undefined
  readonly speech: { readonly provider: ProviderKey; readonly model: string } | undefined
}

/** A provider with an OpenAI-compatible API, and its models. */
interface Endpoint {
  readonly settings: OpenAiSettings
  readonly models: readonly string[]
  readonly speechModel: string | undefined
}

type JobOfProvider = Pick<AiJobRow, 'provider' | 'model' | 'workspaceId'>

/** The providers of this server and of its workspaces. */
export class Providers {
  readonly #outgoing: Outgoing
  readonly #connections: AiConnections
  readonly #server: Endpoint | undefined
  readonly #local: LocalEngine | undefined

  constructor(settings: ProviderSettings, outgoing: Outgoing, connections: AiConnections) {
    const { AI_API_KEY: key, AI_BASE_URL: baseUrl, AI_MODELS: models = [], AI_TRANSCRIPTION_MODEL } = settings
    const { AI_WHISPER_MODEL } = settings
    this.#local = AI_WHISPER_MODEL === undefined ? undefined : { model: AI_WHISPER_MODEL }
    this.#outgoing = outgoing
    this.#connections = connections
    this.#server =
      baseUrl === undefined
        ? undefined
        : {
            // The operator has named the host.
            settings: { baseUrl, key, outgoing, rules: OPEN_RULES, owner: 'server' },
            models,
            speechModel: AI_TRANSCRIPTION_MODEL,
          }
  }

  /** What a workspace can use now. Its own provider comes before the server's. */
  async available(sql: Sql, workspaceId: string): Promise<Available> {
    const own = await this.#connections.find(sql, workspaceId)
    const server = this.#server
    const isServerUsed = server !== undefined && server.models.length > 0
    return {
      texts:
        own === undefined
          ? isServerUsed
            ? { provider: 'openai_compatible', models: server.models }
            : undefined
          : { provider: 'workspace', models: own.models },
      speech: this.#speechOf(own?.transcriptionModel ?? undefined),
    }
  }

  /** What recognizes speech: the provider of the workspace, this machine, or the provider of the server. */
  #speechOf(own: string | undefined): Available['speech'] {
    if (own !== undefined) return { provider: 'workspace', model: own }
    if (this.#local !== undefined) return { provider: 'local', model: localModelName(this.#local) }
    const model = this.#server?.speechModel
    return model === undefined ? undefined : { provider: 'openai_compatible', model }
  }

  /** The provider of a job. @throws ProviderError if it was removed after the request */
  async texts(job: JobOfProvider): Promise<AiProvider> {
    if (job.provider === 'built_in') return builtIn
    const { models, settings } = await this.#endpoint(job)
    if (job.model === null || !models.includes(job.model)) throw removed()
    // The AI SDK is loaded for the first job that needs it.
    const { openAiProvider } = await import('./openai.ts')
    return openAiProvider(settings)
  }

  /** What recognizes the speech of a job; undefined for the built-in provider. @throws ProviderError */
  async speech(job: JobOfProvider): Promise<SpeechProvider | undefined> {
    if (job.provider === 'built_in') return undefined
    if (job.provider === 'local') {
      if (this.#local === undefined || job.model !== localModelName(this.#local)) throw removed()
      return localSpeech(this.#local)
    }
    const { settings, speechModel } = await this.#endpoint(job)
    if (job.model !== speechModel) throw removed()
    return openAiSpeech(settings)
  }

  async #endpoint({ provider, workspaceId }: JobOfProvider): Promise<Endpoint> {
    if (provider !== 'workspace') {
      if (this.#server === undefined) throw removed()
      return this.#server
    }
    const connections = this.#connections
    const row = await connections.stored(workspaceId)
    if (row === undefined) throw removed()
    const key = await connections.keyOf(row)
    return {
      settings: { baseUrl: row.baseUrl, key, outgoing: this.#outgoing, rules: undefined, owner: 'workspace' },
      models: row.models,
      speechModel: row.transcriptionModel ?? undefined,
    }
  }
}

function removed(): ProviderError {
  return new ProviderError('The AI provider or model of this job is not configured any more.', false)
}
