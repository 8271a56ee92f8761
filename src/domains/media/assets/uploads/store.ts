import type { Received } from '../intake.ts'
import { NotFound } from '../../../../core/errors.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { UploadState } from './schemas.ts'

/** An upload as the database has it. */
export interface UploadRow {
  readonly id: string
  readonly workspace_id: string
  readonly user_id: string
  readonly target: 'api' | 'storage'
  readonly name: string
  readonly type: string
  readonly size: number
  readonly sha256: string | null
  readonly folder_id: string | null
  readonly tags: string[]
  readonly state: UploadState
  readonly error: string | null
  readonly file: Received | null
  readonly asset_id: string | null
  readonly expires_at: string
  readonly created_at: string
  readonly updated_at: string
}

export const SELECT_UPLOAD = `select id, workspace_id, user_id, target, name, type, size, sha256, folder_id, tags, state, error, file,
  asset_id, expires_at, created_at, updated_at from uploads`

export function findUpload(sql: Sql, id: string): Promise<UploadRow | undefined> {
  return sql.row<UploadRow>(`${SELECT_UPLOAD} where id = $1`, [id])
}

/** @throws AppError not_found */
export async function requireUpload(sql: Sql, id: string): Promise<UploadRow> {
  const row = await findUpload(sql, id)
  if (row === undefined) throw NotFound()
  return row
}

/** Its time is over, and with it the room that was held, whether the sweep was there already or not. */
export function isLate({ expires_at: expiresAt, state }: UploadRow, now: number): boolean {
  return state === 'expired' || ((state === 'open' || state === 'received') && Date.parse(expiresAt) <= now)
}

/** Why no asset is made of it. */
export function whyNot(row: UploadRow, now: number): string {
  if (row.error !== null) return row.error
  if (isLate(row, now)) return 'The upload has expired: open a new one.'
  if (row.state === 'complete') return 'The asset that was made of this upload is deleted: open a new one.'
  if (row.target === 'api') return 'The bytes of this upload have not all come yet.'
  return 'The bytes of this upload have not come yet, or were not looked at: POST /api/uploads/{uploadId}/complete does.'
}
