import { NotFound } from '../../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import { isOneOf, query, values, type Values } from '../../../../db/query.ts'
import { postAttempts, posts, postTargets } from '../../posts/index.ts'
import type { PostAttemptData } from '../schemas.ts'

interface Parameters {
  readonly postId: string
  readonly targetId?: Values<string> | undefined
  readonly before?: string
  readonly limit: number
}

const findAttempts = query({ postAttempts, postTargets }, (db, $: Parameters) => {
  const found = db
    .selectFrom('postAttempts as a')
    .innerJoin('postTargets as t', 't.id', 'a.targetId')
    .select(['a.id', 'a.targetId', 'a.kind', 'a.number', 'a.startedAt', 'a.endedAt', 'a.outcome', 'a.problem'])
    .select(['a.calls', 't.accountId', 't.platform'])
    .where('t.postId', '=', $.postId)
    .orderBy('a.id', 'desc')
    .limit($.limit)
  const ofTarget = $.targetId === undefined ? found : found.where(isOneOf('a.targetId', $.targetId))
  return $.before === undefined ? ofTarget : ofTarget.where('a.id', '<', $.before)
})

type Row = Awaited<ReturnType<typeof findAttempts.rows>>[number]

/** Reads what was tried to publish posts. */
export class PublicationEvidence {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** A page of attempts, newest first. @throws AppError not_found */
  async list(
    postId: string,
    targetId: readonly string[] | undefined,
    { after, limit }: PageRequest,
  ): Promise<PageResult<PostAttemptData>> {
    const post = await posts.first(this.#sql, { id: postId, deletedAt: null }, { columns: ['id'] })
    if (post === undefined) throw NotFound()
    const rows = await findAttempts.rows(this.#sql, {
      postId,
      limit: limit + 1,
      targetId: values(targetId),
      ...(after !== undefined && { before: after.id }),
    })
    return pageOf(rows, limit, ({ id, startedAt }) => ({ createdAt: startedAt, id }), viewOf)
  }
}

function viewOf(row: Row): PostAttemptData {
  return {
    _id: row.id,
    createdAt: row.startedAt,
    updatedAt: row.endedAt ?? row.startedAt,
    targetId: row.targetId,
    accountId: row.accountId,
    platform: row.platform,
    kind: row.kind,
    number: row.number,
    endedAt: row.endedAt,
    status: row.outcome,
    statusReason: row.problem,
    calls: row.calls.map(({ at, error, method, ms, platformCode, platformRequestId, status, url }) => ({
      at,
      method,
      url,
      httpStatus: status ?? null,
      durationMs: ms,
      platformRequestId: platformRequestId ?? null,
      platformCode: platformCode ?? null,
      error: error ?? null,
    })),
  }
}
