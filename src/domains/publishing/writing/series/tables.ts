import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../../db/columns.ts'
import type { Row } from '../../../../db/row.ts'
import { table } from '../../../../db/table.ts'
import { Workspace } from '../../../workspace/workspaces/index.ts'
import type { TargetProblem, TextRelease } from '../../posts/index.ts'
import type { SeriesTemplate } from './template.ts'

export type SeriesStatus = 'active' | 'paused' | 'ended'

/** A post that recurs. Each occurrence is a separate post, with `seriesId` and `occurrence`. */
export const PostSeries = defineEntity({
  name: 'PostSeries',
  tableName: 'post_series',
  indexes: [
    { name: 'post_series_by_creator', properties: ['createdBy', 'id'] },
    { name: 'post_series_by_workspace', properties: ['workspaceId', 'id'] },
    {
      name: 'post_series_due',
      expression: `create index post_series_due on post_series (due_at) where status = 'active'`,
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'post_series_workspace_id_fkey', onDelete: 'cascade' }),
    version: p.integer(),
    status: p.text().$type<SeriesStatus>(),
    /** Why it is paused, or what was not made. */
    problem: p.json<TargetProblem>().nullable(),
    rrule: p.text(),
    exdates: p.array().columnType('text[]').defaultRaw(`'{}'`),
    rdates: p.array().columnType('text[]').defaultRaw(`'{}'`),
    /** The wall clock of the first occurrence of the rule, in `timeZone`. */
    localTime: p.text(),
    timeZone: p.text(),
    /** The first occurrence that belongs to this series, if it continues another one. */
    startsFrom: p.text().nullable(),
    /** The first occurrence that does not belong to it any more. */
    endsBefore: p.text().nullable(),
    template: p.json<SeriesTemplate>(),
    /** The decision of the person who began or changed it, for texts of models. Null for an API key. */
    textRelease: p.json<TextRelease>().nullable(),
    /** The last occurrence that was made or skipped, in the order of time. */
    madeUntil: p.text(),
    /** How many occurrences there were up to `madeUntil`, without those that were left out. Variations follow it. */
    madeCount: p.integer(),
    /** Occurrences that have passed without a post. */
    missedCount: p.integer().default(0),
    /** When occurrences have to be made again. */
    dueAt: timestamp().nullable(),
    createdBy: p.uuid(),
    /** The author of the posts. */
    authorId: p.uuid(),
    endedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const postSeries = table(PostSeries)
export type SeriesRow = Row<typeof PostSeries>
