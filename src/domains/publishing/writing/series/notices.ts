import type { Turn } from '../../../../core/turn.ts'
import { notify } from '../../../talk/notifications/index.ts'
import { ownerIds } from '../../../workspace/workspaces/index.ts'
import { recurringPostFailed, recurringPostPaused, postName, type TargetProblem } from '../../posts/index.ts'
import { REASONS } from './reasons.ts'
import type { SeriesRow } from './tables.ts'

/** Tells the author which occurrences cannot be published as they are. */
export function notifyFailed(turn: Turn, row: SeriesRow, problems: readonly TargetProblem[]): void {
  const messages = [...new Set(problems.map(({ message, nextStep }) => `${message} ${nextStep ?? ''}`.trim()))]
  notify(turn, recurringPostFailed, {
    to: [row.authorId],
    data: { seriesId: row.id, post: postName(row.template.body), reason: messages.join('\n\n') },
  })
}

/** Tells the owners that a series is paused, because its author has lost access. */
export async function notifyPaused(turn: Turn, row: SeriesRow): Promise<void> {
  const { message, nextStep } = REASONS.noAccess
  notify(turn, recurringPostPaused, {
    to: await ownerIds(turn.sql, turn.workspaceId),
    data: { seriesId: row.id, post: postName(row.template.body), reason: message, nextStep: nextStep ?? '' },
  })
}
