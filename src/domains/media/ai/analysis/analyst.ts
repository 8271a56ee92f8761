import type { Report } from '../../../../jobs/while-wanted.ts'
import { AppError } from '../../../../core/error.ts'
import type { PlatformStatistics } from '../../../publishing/analytics/index.ts'
import type { AiOutcome } from '../outcome.ts'
import { ProviderError } from '../providers/provider.ts'
import { MAX_SENTENCES } from '../providers/prompts.ts'
import type { Providers } from '../providers/providers.ts'
import type { AiJobRow } from '../tables.ts'
import { newPrints } from '../written/prints.ts'
import { keepProven } from './check.ts'
import { factsOf } from './facts.ts'

interface Dependencies {
  readonly stats: Pick<PlatformStatistics, 'of'>
  readonly providers: Providers
}

/** Has a provider write about the figures of a workspace. Only sentences whose figures exist are kept. */
export class Analyst {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws ProviderError */
  async write(row: AiJobRow, signal: AbortSignal, report: Report): Promise<AiOutcome> {
    const { model, request } = row
    const provider = await this.#dependencies.providers.texts(row)
    const stats = await this.#stats(row)
    const facts = factsOf(stats)
    if (facts.length === 1) {
      throw new ProviderError('The workspace has no accounts, so there are no figures to write about.', false)
    }
    report(0.2)
    const task = { facts, question: request.text, settings: request.settings, model }
    const { ignoredSettings, promptVersion, sentences } = await provider.analysis(task, signal, ({ count, text }) =>
      report(0.2 + 0.7 * Math.min(1, count / (MAX_SENTENCES + 1)), text),
    )
    report(0.9)
    const kept = keepProven(sentences, facts)
    if (kept.length === 0) {
      throw new ProviderError('The model wrote no sentence whose figures are right, so nothing was kept.', false)
    }
    const cited = new Set(kept.flatMap(({ factNumbers }) => factNumbers))
    return {
      state: 'done',
      creditsUsed: row.creditsReserved,
      captions: [],
      style: null,
      transcript: null,
      analysis: {
        from: stats.span.from,
        to: stats.span.to,
        timezone: stats.timezone,
        sentences: kept.map(({ factNumbers, text }) => ({ text, factNumbers: [...factNumbers] })),
        facts: facts
          .filter(({ factNumber }) => cited.has(factNumber))
          .map(({ factNumber, statement }) => ({ factNumber, statement })),
        removedCount: sentences.length - kept.length,
        origin: provider.origin,
        model,
        promptVersion,
      },
      ignoredSettings,
      ...(provider.origin === 'model' && {
        prints: newPrints(
          kept.map((sentence) => sentence.text),
          facts.map(({ statement }) => statement),
        ),
      }),
    }
  }

  async #stats({ request: { accountIds, from, to }, workspaceId }: AiJobRow) {
    try {
      return await this.#dependencies.stats.of({
        workspaceId,
        compare: true,
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
        ...(accountIds !== undefined && { accountIds: [...accountIds] }),
      })
    } catch (error) {
      if (error instanceof AppError && error.status < 500) throw new ProviderError(error.message, false, error)
      throw error
    }
  }
}
