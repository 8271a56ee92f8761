import type { Report } from '../../../jobs/while-wanted.ts'
import type { Sql } from '../../../core/sql.ts'
import type { PlatformDirectory } from '../../../platforms/directory.ts'
import { findAssets, postFiles } from '../assets/index.ts'
import type { AiOutcome, NewCaptionRow } from './outcome.ts'
import type { PastReader } from './past-reader.ts'
import { ProviderError, type AssetFacts } from './providers/provider.ts'
import type { Providers } from './providers/providers.ts'
import type { AiJobRow } from './tables.ts'
import { composed, fit } from './text/fit.ts'
import { newPrints } from './written/prints.ts'
import { polish, type CaptionDraft } from './text/polish.ts'

interface Dependencies {
  readonly database: Sql
  readonly directory: PlatformDirectory
  readonly past: PastReader
  readonly providers: Providers
}

/** Has a provider write captions, and makes them keep to the settings of the workspace and the limits of platforms. */
export class CaptionWriter {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws ProviderError */
  async write(row: AiJobRow, signal: AbortSignal, report: Report): Promise<AiOutcome> {
    const { past, providers } = this.#dependencies
    const { model, request, workspaceId } = row
    const provider = await providers.texts(row)
    const [asset, style] = await Promise.all([this.#asset(row), past.style(workspaceId)])
    report(0.1)
    const { settings, text, variantCount } = request
    const subject = { text, asset, past: style }
    const written = await provider.captions(
      { subject, settings, variantCount, model },
      signal,
      ({ count, text: partial }) => report(0.1 + 0.8 * Math.min(1, count / (variantCount + 1)), partial),
    )
    report(0.9)
    const drafts = different(written.drafts.flatMap((draft) => polish(draft, settings, text ?? '') ?? []))
    if (drafts.length === 0) {
      throw new ProviderError(
        'Nothing was left of the captions after the words were removed that you do not want.',
        false,
      )
    }
    // Text that the model repeats from the workspace does not count as written by the model.
    const given = [text ?? '', asset?.altText ?? '', asset?.name ?? '', style.closing ?? '', ...style.examples]
    const origin = { origin: provider.origin, model, promptVersion: written.promptVersion }
    const captions = await this.#adapt(row, drafts, origin)
    return {
      state: 'done',
      creditsUsed: new Set(captions.map(({ variantNumber }) => variantNumber)).size,
      captions,
      style: null,
      transcript: null,
      ignoredSettings: written.ignoredSettings,
      ...(provider.origin === 'model' && {
        prints: newPrints(
          captions.flatMap(({ content, title }) => [content, title ?? '']),
          given,
        ),
      }),
    }
  }

  async #asset({ assetId, workspaceId }: AiJobRow): Promise<AssetFacts | null> {
    if (assetId === null) return null
    const [found] = await findAssets(this.#dependencies.database, workspaceId, [assetId])
    if (found === undefined) throw new ProviderError('The asset was deleted.', false)
    const { altText, kind, name, tags } = found
    return { altText, kind, name, tags }
  }

  /** One caption for each draft, or one for each draft and platform. */
  async #adapt(
    { assetId, request: { platforms }, workspaceId }: AiJobRow,
    drafts: readonly CaptionDraft[],
    origin: Pick<NewCaptionRow, 'origin' | 'model' | 'promptVersion'>,
  ): Promise<NewCaptionRow[]> {
    const { database, directory } = this.#dependencies
    const files = await postFiles(database, workspaceId, assetId === null ? [] : [{ assetId }])
    const media = [...files.values()].map((file) => file.media)
    return drafts.flatMap((draft, index): NewCaptionRow[] => {
      const about = { ...origin, variantNumber: index + 1 }
      const whole = { title: draft.title, content: composed(draft.text, draft.hashtags), hashtags: draft.hashtags }
      if (platforms.length === 0) return [{ ...about, ...whole, platform: null, shortened: false }]
      return platforms.flatMap((key) => {
        const entry = directory.require(key)
        const fitted = fit(draft, { platform: entry.platform, limits: directory.limits(entry), media })
        if (fitted === undefined) return []
        const { text: content, ...rest } = fitted
        return [{ ...about, ...rest, content, platform: entry.platform.key }]
      })
    })
  }
}

/** Drops drafts whose texts have become the same. */
function different(drafts: readonly CaptionDraft[]): CaptionDraft[] {
  return [...new Map(drafts.toReversed().map((draft) => [draft.text, draft])).values()].toReversed()
}
