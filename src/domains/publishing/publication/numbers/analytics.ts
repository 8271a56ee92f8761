import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import type { Sql } from '../../../../core/sql.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { PlatformDirectory } from '../../../../platforms/directory.ts'
import { PlatformError } from '../../../../platforms/error-kinds.ts'
import type { Insights, RemotePost } from '../../../../platforms/publishing.ts'
import type { AccountCalls } from '../../../social/accounts/index.ts'
import { loadPost, postSegments, type TargetRow } from '../../posts/index.ts'
import { FIGURES, type PostAnalyticsData, type TargetFigures } from './schemas.ts'

/** How long figures are shown without asking the platform again. */
const FRESH_MS = 5 * MINUTE
/** How many targets are remembered. */
const MAX_KEPT = 5_000
/** How long a reply waits for platforms. */
const PATIENCE_MS = 15 * SECOND
const AT_ONCE = 8

interface Known {
  readonly insights: Insights
  readonly fetchedAt: number
}

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly calls: Pick<AccountCalls, 'run'>
  readonly directory: PlatformDirectory
}

/** The figures that platforms report of posts, asked for on demand and kept for some minutes by each node. */
export class PostFigures {
  readonly #needs: Needs
  readonly #known = new Map<string, Known>()
  /** Requests that are under way, so that several readers make one call. */
  readonly #asked = new Map<string, Promise<Insights>>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @throws AppError not_found */
  async of(postId: string): Promise<PostAnalyticsData> {
    const { sql } = this.#needs
    const { targets } = await loadPost(sql, postId)
    const firsts = await postSegments.find(
      sql,
      { targetId: anyOf(targets.map(({ id }) => id)), position: 0 },
      { columns: ['targetId', 'remote'] },
    )
    const remotes = new Map(firsts.map(({ remote, targetId }) => [targetId, remote]))
    const shown: TargetFigures[] = []
    for (let start = 0; start < targets.length; start += AT_ONCE) {
      const some = targets.slice(start, start + AT_ONCE)
      shown.push(...(await Promise.all(some.map((target) => this.#figures(target, remotes.get(target.id) ?? null)))))
    }
    return { postId, targets: shown, totals: totalsOf(shown) }
  }

  async #figures(target: TargetRow, remote: RemotePost | null): Promise<TargetFigures> {
    const { accountId, id: targetId, platform, status } = target
    const base = { targetId, accountId, platform, status }
    const nothing = (code: GapCode, message: string) => ({ ...base, ...figuresOf({}), gap: { code, message } })
    if (remote === null) return nothing('not_published', 'It is not published.')
    if (target.remoteDeletedAt !== null) return nothing('removed', 'It was deleted at the platform.')
    const found = this.#needs.directory.find(platform)?.platform
    const title = found?.title ?? platform
    if (found?.publishing?.insights === undefined) {
      return nothing('not_supported', `${title} does not give figures of posts to other programs.`)
    }
    try {
      const known = await this.#current(target, remote)
      return { ...base, ...figuresOf(known), gap: gapOf(title, known.insights) }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      const message = error.detail === undefined ? error.message : `${error.message} (${error.detail})`
      // Old figures are better than none; `fetchedAt` says how old they are.
      return { ...base, ...figuresOf(this.#known.get(targetId) ?? {}), gap: { code: 'unavailable', message } }
    }
  }

  async #current({ accountId, id }: TargetRow, remote: RemotePost): Promise<Known> {
    const { clock } = this.#needs
    const known = this.#known.get(id)
    if (known !== undefined && clock.now() - known.fetchedAt < FRESH_MS) return known
    let asked = this.#asked.get(id)
    if (asked === undefined) {
      asked = this.#ask(accountId, remote).finally(() => this.#asked.delete(id))
      this.#asked.set(id, asked)
    }
    const fresh = { insights: await asked, fetchedAt: clock.now() }
    this.#known.delete(id)
    this.#known.set(id, fresh)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_KEPT && oldest !== undefined) this.#known.delete(oldest)
    return fresh
  }

  async #ask(accountId: string, remote: RemotePost): Promise<Insights> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    return this.#needs.calls.run(accountId, { signal }, async ({ context, platform: { publishing, title } }) => {
      if (publishing?.insights === undefined) throw new PlatformError('unsupported', title)
      return publishing.insights(context, remote)
    })
  }
}

type GapCode = NonNullable<TargetFigures['gap']>['code']

function figuresOf({ fetchedAt, insights = {} }: Partial<Known>): Pick<TargetFigures, 'figures' | 'fetchedAt'> {
  return {
    figures: FIGURES.map((figure) => ({ figure, value: insights[figure] ?? null })),
    fetchedAt: fetchedAt === undefined ? null : new Date(fetchedAt).toISOString(),
  }
}

function gapOf(title: string, insights: Insights): TargetFigures['gap'] {
  const missing = FIGURES.filter((figure) => insights[figure] === undefined)
  if (missing.length === 0) return null
  return { code: 'partly_reported', message: `${title} does not report ${missing.join(', ')}.` }
}

function totalsOf(targets: readonly TargetFigures[]): PostAnalyticsData['totals'] {
  return FIGURES.map((figure) => {
    const values = targets.flatMap(({ figures }) => {
      const value = figures.find((one) => one.figure === figure)?.value
      return value == null ? [] : [value]
    })
    const sum = values.length === 0 ? null : values.reduce((one, two) => one + two, 0)
    return { figure, value: sum, targetCount: values.length }
  })
}
