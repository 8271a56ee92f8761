import type { Member } from '../../../core/caller.ts'
import type { Static } from '../../../core/schema.ts'
import { AI_DEFAULTS, type AiSettingsData, type WorkspaceState, type WorkspaceView } from './schemas.ts'

export interface WorkspaceRow {
  id: string
  owner_id: string
  name: string
  timezone: string
  logo: string | null
  ai_settings: Partial<AiSettingsData>
  version: number
  created_at: string
  updated_at: string
}

/** Columns of a `WorkspaceRow`, for `w` a row of workspaces. */
export const WORKSPACE_COLUMNS =
  'w.id, w.owner_id, w.name, w.timezone, w.logo, w.ai_settings, w.version, w.created_at, w.updated_at'

export function stateOf(row: WorkspaceRow): Static<typeof WorkspaceState> {
  return {
    _id: row.id,
    name: row.name,
    timezone: row.timezone,
    logo: row.logo,
    aiSettings: { ...AI_DEFAULTS, ...row.ai_settings },
    ownerId: row.owner_id,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export function viewOf(row: WorkspaceRow, member: Pick<Member, 'role' | 'scopes'>): Static<typeof WorkspaceView> {
  return { ...stateOf(row), role: member.role, scopes: [...member.scopes].sort() }
}
