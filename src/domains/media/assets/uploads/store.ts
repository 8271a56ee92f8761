import { NotFound } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import { uploads, type UploadRow } from '../tables.ts'

export function findUpload(sql: Sql, id: string): Promise<UploadRow | undefined> {
  return uploads.first(sql, { id })
}

/** @throws AppError not_found */
export async function requireUpload(sql: Sql, id: string): Promise<UploadRow> {
  const row = await findUpload(sql, id)
  if (row === undefined) throw NotFound()
  return row
}

/** Whether an upload has expired, even if the sweep has not marked it yet. */
export function isExpired({ expiresAt, state }: UploadRow, now: number): boolean {
  return state === 'expired' || ((state === 'open' || state === 'received') && Date.parse(expiresAt) <= now)
}

/** Why an upload cannot become an asset. */
export function rejectionReason(row: UploadRow, now: number): string {
  if (row.error !== null) return row.error
  if (isExpired(row, now)) return 'The upload has expired. Create a new one.'
  if (row.state === 'complete') return 'The asset of this upload was deleted. Create a new upload.'
  if (row.target === 'api') return 'Not all bytes of this upload have been received yet.'
  return 'The bytes of this upload have not been received or inspected yet. POST /api/uploads/{uploadId}/complete inspects them.'
}
