import type { Sql } from '../../../core/sql.ts'
import { acceptedTag } from '../../../language/accepted.ts'
import { findReaders } from '../../identity/users/index.ts'

/** The language tag in which a payer reads: the one that the request prefers, or else that of the payer's settings. */
export async function payerLanguage(
  sql: Sql,
  { accepted, userId }: { readonly userId: string; readonly accepted?: string | undefined },
): Promise<string> {
  const [reader] = await findReaders(sql, [userId])
  return acceptedTag(accepted, reader?.language ?? 'en')
}
