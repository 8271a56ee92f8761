import { HOUR, type Clock } from '../../../core/clock.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { namedPlatforms } from '../../../platforms/named-platforms.ts'
import type { Ledger } from '../../money/ledger/index.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { publishedTexts } from '../../publishing/posts/index.ts'
import { findAssets } from '../assets/index.ts'
import { aiSettingsOf, payerOf, type AiSettingsData } from '../../workspace/workspaces/index.ts'
import type { AiSpending } from './connection/spending.ts'
import { AiModelUnknown, NotEnoughPosts, NotTranscribable } from './errors.ts'
import { aiJobCreated, aiJobUpdated } from './events.ts'
import { runAiJob, runTranscription } from './jobs.ts'
import type { AiOutcome } from './outcome.ts'
import type { Providers } from './providers/providers.ts'
import {
  OPEN_STATES,
  type AiJobData,
  type AiKind,
  type NewAnalysisData,
  type NewCaptionData,
  type NewTranscriptionData,
} from './schemas.ts'
import { aiCaptions, aiJobs, aiTranscripts, type AiJobRow, type AiRequest } from './tables.ts'
import { MIN_POSTS } from './text/style.ts'
import { SECONDS_PER_CREDIT } from './transcripts/transcriber.ts'
import { jobView } from './views.ts'
import type { WrittenTexts } from './written/written-texts.ts'

/** The price of a derived style. A caption costs one credit. */
const STYLE_CREDITS = 1
const ANALYSIS_CREDITS = 2
const VARIANTS = 3
const MAX_SPEECH_SECONDS = (3 * HOUR) / 1_000

interface Dependencies {
  readonly clock: Clock
  readonly ledger: Ledger
  readonly plans: PlanService
  readonly providers: Providers
  readonly spending: AiSpending
  readonly written: WrittenTexts
}

interface NewJob {
  readonly kind: AiKind
  readonly userId: string
  readonly credits: number
  readonly assetId: string | null
  readonly request: AiRequest
}

/** How a job ends. Without `creditsUsed`, its credits are released. */
type Ending = Pick<AiJobRow, 'state'> &
  Partial<Pick<AiJobRow, 'style' | 'analysis' | 'error' | 'ignoredSettings'>> & { readonly creditsUsed?: number }

/**
 * Requests, cancels and ends AI jobs, in turns of their workspace. The turn that requests a job reserves its credits,
 * and the turn that ends it uses or releases them, so both happen with the change of its state or not at all.
 */
export class AiRequests {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws AppError not_found, validation_failed, ai_model_unknown, ai_limit_reached, insufficient_credits */
  async caption(turn: Turn, userId: string, body: NewCaptionData): Promise<AiJobData> {
    const { assetId, platforms = [], text, tone, variantCount = VARIANTS } = body
    if (assetId === undefined && text === undefined) {
      const message = 'is required, or `text`'
      throw ValidationFailed({ errors: [{ path: '/body/assetId', code: 'required', message }] })
    }
    if (assetId !== undefined && (await findAssets(turn.sql, turn.workspaceId, [assetId])).length === 0) {
      throw NotFound({ message: 'There is no such asset in the media library.' })
    }
    namedPlatforms(platforms, '/body/platforms')
    const stored = await aiSettingsOf(turn.sql, turn.workspaceId)
    const settings = { ...stored, ...(tone !== undefined && { tone }) }
    const request = { text: text ?? null, platforms, variantCount, settings }
    return this.#start(turn, { kind: 'caption', userId, credits: variantCount, assetId: assetId ?? null, request })
  }

  /** @throws AppError not_enough_posts, insufficient_credits */
  async style(turn: Turn, userId: string): Promise<AiJobData> {
    const found = (await publishedTexts(turn.sql, turn.workspaceId, MIN_POSTS)).length
    if (found < MIN_POSTS) {
      const message = `A style needs at least ${MIN_POSTS} published posts with a text; there ${found === 1 ? 'is' : 'are'} ${found}.`
      throw NotEnoughPosts({ message, details: { required: MIN_POSTS, found } })
    }
    const settings = await aiSettingsOf(turn.sql, turn.workspaceId)
    const request = { text: null, platforms: [], variantCount: 1, settings }
    return this.#start(turn, { kind: 'style', userId, credits: STYLE_CREDITS, assetId: null, request })
  }

  /** @throws AppError not_found, not_transcribable, insufficient_credits */
  async transcription(turn: Turn, userId: string, body: NewTranscriptionData): Promise<AiJobData> {
    const { assetId, language } = body
    const [asset] = await findAssets(turn.sql, turn.workspaceId, [assetId])
    if (asset === undefined) throw NotFound({ message: 'There is no such asset in the media library.' })
    const { kind, seconds } = asset
    if (kind !== 'video' && kind !== 'audio') {
      throw NotTranscribable({ message: 'The asset is neither video nor audio.' })
    }
    if (seconds === null)
      throw NotTranscribable({ message: 'The file has not been examined, so its length is unknown.' })
    if (seconds > MAX_SPEECH_SECONDS) {
      const message = `The file has ${Math.ceil(seconds / 60)} minutes. At most ${MAX_SPEECH_SECONDS / 60} are transcribed.`
      throw NotTranscribable({ message })
    }
    const settings = await aiSettingsOf(turn.sql, turn.workspaceId)
    const request = { text: null, platforms: [], variantCount: 1, settings, language: language ?? null }
    const { speech } = await this.#dependencies.providers.available(turn.sql, turn.workspaceId)
    const credits = speech !== undefined ? Math.max(1, Math.ceil(seconds / SECONDS_PER_CREDIT)) : 1
    return this.#start(turn, { kind: 'transcription', userId, credits, assetId, request })
  }

  /** @throws AppError validation_failed, ai_model_unknown, insufficient_credits */
  async analysis(turn: Turn, userId: string, body: NewAnalysisData): Promise<AiJobData> {
    const { question, workspaceId: _workspace, ...span } = body
    const { from, to } = span
    if (from !== undefined && to !== undefined && from > to) {
      throw ValidationFailed({ errors: [{ path: '/body/from', code: 'order', message: 'must not be after `to`' }] })
    }
    const settings = await aiSettingsOf(turn.sql, turn.workspaceId)
    const request = { text: question ?? null, platforms: [], variantCount: 1, settings, ...span }
    return this.#start(turn, { kind: 'analysis', userId, credits: ANALYSIS_CREDITS, assetId: null, request })
  }

  /** Cancels a job that has not ended, and releases its credits. @throws AppError not_found, conflict */
  async cancel(turn: Turn, id: string): Promise<AiJobData> {
    const row = await aiJobs.first(turn.sql, { id })
    if (row === undefined) throw NotFound()
    if (!isOpen(row))
      throw Conflict({ message: `The job is ${row.state}. Only a job that has not ended is cancelled.` })
    turn.audit({ kind: 'ai_job', id })
    return this.#end(turn, row, { state: 'cancelled' })
  }

  /** Ends the open jobs of a workspace that is deleted. */
  async cancelAll(turn: Turn): Promise<void> {
    const open = await aiJobs.find(turn.sql, { workspaceId: turn.workspaceId, state: anyOf(OPEN_STATES) })
    for (const row of open) await this.#end(turn, row, { state: 'cancelled' })
  }

  /** Records how a job has ended. It has no effect if it ended before. */
  async record(turn: Turn, id: string, outcome: AiOutcome): Promise<void> {
    const row = await aiJobs.first(turn.sql, { id })
    if (row === undefined || !isOpen(row)) return
    if (outcome.state === 'failed') {
      await this.#end(turn, row, outcome)
      return
    }
    const now = this.#dependencies.clock.now()
    const { analysis = null, captions, creditsUsed, ignoredSettings, prints = [], style, transcript } = outcome
    const { assetId } = row
    if (assetId !== null && (await findAssets(turn.sql, turn.workspaceId, [assetId])).length === 0) {
      await this.#end(turn, row, { state: 'failed', error: 'The asset was deleted.' })
      return
    }
    const times = { createdAt: new Date(now), updatedAt: new Date(now) }
    const of = { workspaceId: turn.workspaceId, aiJobId: id, ...times }
    if (transcript !== null && assetId !== null) {
      await aiTranscripts.insert(turn.sql, { ...transcript, ...of, assetId, id: uuidv7(now) })
    }
    if (captions.length > 0) {
      await aiCaptions.insertAll(
        turn.sql,
        captions.map((caption) => ({ ...caption, hashtags: [...caption.hashtags], ...of, assetId, id: uuidv7(now) })),
      )
    }
    await this.#dependencies.written.add(turn, row, prints)
    await this.#end(turn, row, { state: 'done', creditsUsed, style, analysis, ignoredSettings: [...ignoredSettings] })
  }

  async #start(turn: Turn, { assetId, credits, kind, request, userId }: NewJob): Promise<AiJobData> {
    const { clock, ledger, spending } = this.#dependencies
    const now = new Date(clock.now())
    const id = uuidv7(now.getTime())
    const chosen = await this.#choose(turn, kind, request.settings)
    const payerId = await payerOf(turn.sql, turn.workspaceId)
    if (payerId === undefined) throw NotFound()
    await this.#lock(turn, payerId)
    await spending.require(turn.sql, turn.workspaceId, payerId, credits)
    const reference = `ai:${kind}:${id}`
    const reservation = await ledger.credits.reserve(turn.sql, { userId: payerId, amount: credits, reference })
    const row: AiJobRow = {
      id,
      workspaceId: turn.workspaceId,
      kind,
      state: 'queued',
      progress: 0,
      assetId,
      request,
      ...chosen,
      jobId: turn.job(kind === 'transcription' ? runTranscription : runAiJob, { aiJobId: id }),
      payerId,
      reservationId: reservation._id,
      creditsReserved: credits,
      creditsUsed: null,
      style: null,
      analysis: null,
      ignoredSettings: [],
      error: null,
      createdBy: userId,
      finishedAt: null,
      createdAt: now.toISOString(),
      updatedAt: now.toISOString(),
    }
    await aiJobs.insert(turn.sql, { ...row, finishedAt: null, createdAt: now, updatedAt: now })
    turn.audit({ kind: 'ai_job', id })
    const view = jobView(row, [])
    turn.emit(aiJobCreated, view)
    return view
  }

  /** @throws AppError ai_model_unknown */
  async #choose(turn: Turn, kind: AiKind, { model }: AiSettingsData): Promise<Pick<AiJobRow, 'provider' | 'model'>> {
    const { speech, texts } = await this.#dependencies.providers.available(turn.sql, turn.workspaceId)
    if (kind === 'transcription' && speech !== undefined) return speech
    const [usual] = texts?.models ?? []
    // A style is measured. No model takes part.
    if ((kind !== 'caption' && kind !== 'analysis') || texts === undefined || usual === undefined) {
      return { provider: 'built_in', model: null }
    }
    if (model !== null && !texts.models.includes(model)) {
      throw AiModelUnknown({
        message: `The model “${model}” of the AI settings is not available. There are ${texts.models.join(', ')}.`,
      })
    }
    return { provider: texts.provider, model: model ?? usual }
  }

  /** Ends a job, and uses or releases its credits. */
  async #end(turn: Turn, row: AiJobRow, end: Ending) {
    const { clock, ledger } = this.#dependencies
    const { creditsUsed } = end
    await this.#lock(turn, row.payerId)
    if (creditsUsed === undefined) await ledger.credits.release(turn.sql, row.reservationId)
    else await ledger.credits.settle(turn.sql, row.reservationId, creditsUsed)
    const now = new Date(clock.now())
    const progress = end.state === 'done' ? 100 : row.progress
    const times = { finishedAt: now, updatedAt: now }
    const [changed] = await aiJobs.updateReturning(
      turn.sql,
      { id: row.id },
      { creditsUsed: 0, progress, ...end, ...times },
    )
    if (changed === undefined) throw NotFound()
    const captions = await aiCaptions.find(turn.sql, { aiJobId: row.id }, { orderBy: ['id asc'] })
    const view = jobView(changed, captions)
    turn.emit(aiJobUpdated, view)
    return view
  }

  /** Locks the payer's subscription before the ledger's account, in the order of every transaction that locks both. */
  async #lock(turn: Turn, payerId: string): Promise<void> {
    await this.#dependencies.plans.lockLimitsOf(turn.sql, payerId)
  }
}

function isOpen({ state }: Pick<AiJobRow, 'state'>): boolean {
  return (OPEN_STATES as readonly string[]).includes(state)
}
