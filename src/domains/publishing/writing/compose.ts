import { Provided } from '../../../core/provided.ts'
import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { PostActions } from './actions.ts'
import { AuthorSettings } from './author-settings.ts'
import { PostAuthor, type PublishedEdits } from './author.ts'
import { composeBulk } from './bulk/compose.ts'
import { PostChecks } from './checks.ts'
import { PostComments } from './comments/comments.ts'
import { MediaFetcher } from './media-urls/fetched-media.ts'
import { planUse } from './plan-use.ts'
import { PostQuota } from './quota.ts'
import { composeSeries } from './series/compose.ts'
import type { ModelTexts } from './text-origin/model-texts.ts'
import { TextOrigins } from './text-origin/text-origins.ts'
import { PostValidation } from './validation.ts'
import { PostHistory } from './versions/history.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly writing: ReturnType<typeof composeWriting>['services']['writing']
    readonly modelTexts: ReturnType<typeof composeWriting>['services']['modelTexts']
  }
}

/** Builds the services that write and change posts. */
export function composeWriting(
  { clock, database: sql, turns }: Foundation,
  {
    assets,
    planning,
    plans,
    posts,
    socialAccounts,
    workspaces,
  }: Pick<Services, 'assets' | 'planning' | 'plans' | 'posts' | 'socialAccounts' | 'workspaces'>,
) {
  const { approvals, reader } = posts
  const { room, slots, times } = planning
  const checks = new PostChecks(socialAccounts.directory)
  const settings = new AuthorSettings(checks)
  const quota = new PostQuota(plans, clock)
  const modelTexts = new Provided<ModelTexts>('texts of models')
  const origins = new TextOrigins(modelTexts, approvals)
  const edits = new Provided<PublishedEdits>('edits of published posts')
  const author = new PostAuthor({ clock, checks, times, room, approvals, origins, edits, quota, settings })
  const actions = new PostActions({ clock, checks, slots, room, approvals })
  const validation = new PostValidation({ sql, clock, checks, times, settings, quota, origins })
  const { seriesRunner, seriesWatch, ...series } = composeSeries(
    { sql, clock, turns },
    { author, checks, origins, plans, room, settings, validation, workspaces },
  )
  socialAccounts.limits.registerUse(planUse)
  return {
    services: {
      /** Set by the domain of AI. */
      modelTexts,
      writing: {
        /** Set by the domain of remote changes. */
        edits,
        checks,
        validation,
        author,
        settings,
        actions,
        series,
        seriesRunner,
        seriesWatch,
        mediaFetcher: new MediaFetcher(assets.urlImports, assets.urlCheck),
        history: new PostHistory(sql, author),
        comments: new PostComments(sql, clock),
        ...composeBulk(
          { sql, clock },
          { actions, approvals, author, checks, quota, reader, room, settings, series: series.actions },
        ),
      },
    },
  }
}
