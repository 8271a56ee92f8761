import { uuidv7 } from '../../../../tools/id.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { ErrorKind, PlatformError } from '../../../../platforms/error-kinds.ts'
import type { GapCode } from '../figures.ts'
import { analyticsGaps } from '../tables.ts'

/** Why a reading failed. */
export interface GapReason {
  readonly code: GapCode
  readonly message: string
}

const CODES: Partial<Record<ErrorKind, GapCode>> = {
  rate_limited: 'limited',
  quota_exhausted: 'limited',
  auth_expired: 'not_connected',
  scope_missing: 'refused',
  account_restricted: 'refused',
  policy_rejected: 'refused',
  billing: 'refused',
  validation: 'refused',
  unsupported: 'refused',
}

export function gapReasonOf(error: PlatformError): GapReason {
  const message = error.detail === undefined ? error.message : `${error.message} (${error.detail})`
  return { code: CODES[error.kind] ?? 'unavailable', message }
}

/** Begins a gap. One for the same reason that lasts continues. */
export async function openGap(sql: Sql, accountId: string, reason: GapReason, now: number): Promise<void> {
  const open = await analyticsGaps.first(sql, { accountId, endedAt: null })
  if (open?.code === reason.code) return
  if (open !== undefined) await closeGap(sql, accountId, now)
  const startedAt = new Date(now).toISOString()
  await analyticsGaps.insert(sql, { id: uuidv7(now), accountId, ...reason, startedAt, endedAt: null })
}

/** The platform replies again. */
export async function closeGap(sql: Sql, accountId: string, now: number): Promise<void> {
  await analyticsGaps.update(sql, { accountId, endedAt: null }, { endedAt: new Date(now).toISOString() })
}
