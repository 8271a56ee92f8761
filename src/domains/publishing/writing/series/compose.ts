import type { Services } from '../../../../core/services.ts'
import type { Foundation } from '../../../../foundation.ts'
import type { AuthorSettings } from '../author-settings.ts'
import type { PostAuthor } from '../author.ts'
import type { BudgetPlanner } from '../../planning/index.ts'
import type { PostChecks } from '../checks.ts'
import type { TextOrigins } from '../text-origin/text-origins.ts'
import type { PostValidation } from '../validation.ts'
import { SeriesChanges } from './changes.ts'
import { SeriesActions } from './actions.ts'
import { checkAuthors } from './jobs.ts'
import { OccurrenceMaker } from './maker.ts'
import { SeriesReader } from './reader.ts'
import { SeriesRunner } from './runner.ts'
import { SeriesWatch } from './watch.ts'

interface Posts extends Pick<Services, 'plans' | 'workspaces'> {
  readonly author: PostAuthor
  readonly checks: PostChecks
  readonly origins: TextOrigins
  readonly room: BudgetPlanner
  readonly settings: AuthorSettings
  readonly validation: PostValidation
}

/** Builds the services of recurring posts. */
export function composeSeries(
  { clock, sql, turns }: Pick<Foundation, 'clock' | 'turns'> & { readonly sql: Foundation['database'] },
  { author, checks, origins, plans, room, settings, validation, workspaces }: Posts,
) {
  const reader = new SeriesReader(sql, clock)
  const maker = new OccurrenceMaker({ clock, author, checks, origins, room })
  workspaces.memberships.onTurnChange((turn) => {
    turn.job(checkAuthors, {}, { key: turn.workspaceId })
  })
  return {
    reader,
    actions: new SeriesActions({ sql, clock, author, checks, origins, plans, reader, settings, validation }),
    changes: new SeriesChanges({ clock, author, checks, origins, maker, reader }),
    seriesRunner: new SeriesRunner(clock, maker),
    seriesWatch: new SeriesWatch(sql, clock, turns),
  }
}
