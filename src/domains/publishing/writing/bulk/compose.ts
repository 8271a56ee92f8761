import type { Foundation } from '../../../../foundation.ts'
import type { BudgetPlanner } from '../../planning/index.ts'
import type { ApprovalGate, PostReader } from '../../posts/index.ts'
import type { Provided } from '../../../../core/provided.ts'
import type { PostActions } from '../actions.ts'
import type { AuthorSettings } from '../author-settings.ts'
import type { PostAuthor } from '../author.ts'
import { PostBulkActions } from '../bulk-changes/actions.ts'
import { BulkChanges } from '../bulk-changes/changes.ts'
import { PostRestorer } from '../bulk-changes/restorer.ts'
import type { PostChecks } from '../checks.ts'
import type { PostQuota } from '../quota.ts'
import type { SeriesActions } from '../series/actions.ts'
import { PostBatches } from './batches.ts'
import { PostExporter } from './exporter.ts'
import { PostImporter } from './importer.ts'

interface Parts {
  readonly actions: PostActions
  readonly approvals: Provided<ApprovalGate>
  readonly author: PostAuthor
  readonly checks: PostChecks
  readonly quota: PostQuota
  readonly reader: PostReader
  readonly room: BudgetPlanner
  readonly series: SeriesActions
  readonly settings: AuthorSettings
}

/** Builds the services of requests for many posts. */
export function composeBulk(
  { clock, sql }: Pick<Foundation, 'clock'> & { readonly sql: Foundation['database'] },
  { actions, approvals, author, checks, quota, reader, room, series, settings }: Parts,
) {
  const restorer = new PostRestorer({ clock, checks, room, approvals })
  const bulkChanges = new BulkChanges({ sql, clock, restorer })
  return {
    bulkActions: new PostBulkActions(actions, bulkChanges),
    bulkChanges,
    importer: new PostImporter({ clock, author, checks, quota, settings, series }),
    exporter: new PostExporter(reader),
    batches: new PostBatches(sql, clock),
  }
}
