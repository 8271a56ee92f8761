import type { Sql } from '../../../core/sql.ts'
import { loadPost, snapshotOf } from '../posts/index.ts'
import { boardColumn, changesBetween, versionOf } from '../writing/index.ts'
import type { ApprovalChangesView, BoardData } from './schemas.ts'
import { approvalFlows } from './tables.ts'
import type { Static } from '../../../core/schema.ts'

const DEFAULT_LIMIT = 20

/** Reads approvals. Any node reads them from the database. */
export class ApprovalBoard {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async get(workspaceId: string, limit = DEFAULT_LIMIT): Promise<BoardData> {
    const flow = await approvalFlows.first(this.#sql, { workspaceId })
    const stages = (flow?.stages ?? []).map(({ name }, index) => ({ stage: index + 1, stageName: name }))
    const columns = await Promise.all([
      ...stages.map(async ({ stage, stageName }) => {
        const column = await boardColumn(this.#sql, workspaceId, { status: 'in_review', stage, limit })
        return { kind: 'stage' as const, stage, stageName, ...column }
      }),
      ...(['changes_requested', 'ready'] as const).map(async (kind) => {
        const column = await boardColumn(this.#sql, workspaceId, { status: kind, limit })
        return { kind, stage: null, stageName: null, ...column }
      }),
    ])
    return { columns }
  }

  /**
   * What has changed since a user decided on a post, or since anybody did.
   * @throws AppError not_found
   */
  async changes(postId: string, userId: string): Promise<Static<typeof ApprovalChangesView>> {
    const loaded = await loadPost(this.#sql, postId)
    const decisions = loaded.post.approval?.decisions ?? []
    const last = decisions.findLast((one) => one.userId === userId) ?? decisions.at(-1)
    const seen = last && (await versionOf(this.#sql, postId, last.version))
    if (last === undefined || seen === undefined) return { comparedWith: null, changes: null }
    const { decidedAt, decision, userId: by, version } = last
    const changes = changesBetween(seen, snapshotOf(loaded))
    return { comparedWith: { version, decision, userId: by, decidedAt }, changes }
  }
}
