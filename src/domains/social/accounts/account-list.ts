import { sql } from 'kysely'
import type { PageRequest } from '../../../core/page.ts'
import type { StoredJson } from '../../../core/reply.ts'
import type { Sql } from '../../../core/sql.ts'
import { containing } from '../../../db/like.ts'
import { isOneOf, query, values, type Values } from '../../../db/query.ts'
import type { SocialAccountData } from './schemas.ts'
import type { AccountStatus } from './status.ts'
import { socialAccounts } from './tables.ts'

export interface AccountFilter {
  readonly workspaceId: string
  readonly platform?: readonly string[]
  readonly status?: readonly AccountStatus[]
  readonly kind?: string
  /** Part of the name or the handle, in any case. */
  readonly q?: string
}

interface ListParameters extends Pick<AccountFilter, 'workspaceId' | 'kind'> {
  readonly platform?: Values<string> | undefined
  readonly status?: Values<AccountStatus> | undefined
  /** A pattern for `ilike`. */
  readonly pattern?: string
  /** The last account of the page before. */
  readonly lastId?: string
  readonly limit: number
}

const accountsOf = query({ socialAccounts }, (db, $: ListParameters) => {
  let found = db
    .selectFrom('socialAccounts')
    .select(['id', 'createdAt', sql<StoredJson<SocialAccountData>>`view::text`.as('json')])
    .where('workspaceId', '=', $.workspaceId)
    .orderBy('id', 'desc')
    .limit($.limit)
  // Removed accounts are listed only on request.
  found = $.status === undefined ? found.where('status', '<>', 'removed') : found.where(isOneOf('status', $.status))
  if ($.platform !== undefined) found = found.where(isOneOf('platform', $.platform))
  if ($.kind !== undefined) found = found.where('kind', '=', $.kind)
  const { pattern } = $
  if (pattern !== undefined)
    found = found.where((e) => e.or([e('name', 'ilike', pattern), e('handle', 'ilike', pattern)]))
  if ($.lastId !== undefined) found = found.where('id', '<', $.lastId)
  return found
})

/** The accounts of a page, newest first, and one more if there is another page. */
export function findAccounts(on: Sql, filter: AccountFilter, { after, limit }: PageRequest) {
  const { kind, platform, q, status, workspaceId } = filter
  return accountsOf.rows(on, {
    workspaceId,
    platform: values(platform),
    status: values(status),
    ...(kind !== undefined && { kind }),
    ...(q !== undefined && { pattern: containing(q.replace(/^@/, '')) }),
    ...(after !== undefined && { lastId: after.id }),
    limit: limit + 1,
  })
}
