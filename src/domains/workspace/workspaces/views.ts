import type { Member } from '../../../core/caller.ts'
import type { Static } from '../../../core/schema.ts'
import type { Row } from '../../../db/row.ts'
import { AI_DEFAULTS, type WorkspaceState, type WorkspaceView } from './schemas.ts'
import type { Workspace } from './tables.ts'

export type WorkspaceRow = Omit<Row<typeof Workspace>, 'deletedAt' | 'purgeAt'>

export function stateOf(row: WorkspaceRow): Static<typeof WorkspaceState> {
  const { id, name, timezone, logo, aiSettings, ownerId, secondFactorRequiredAt, version, createdAt, updatedAt } = row
  return {
    _id: id,
    name,
    timezone,
    logo,
    aiSettings: { ...AI_DEFAULTS, ...aiSettings },
    ownerId,
    secondFactorRequiredAt,
    version,
    createdAt,
    updatedAt,
  }
}

export function viewOf(row: WorkspaceRow, member: Pick<Member, 'role' | 'scopes'>): Static<typeof WorkspaceView> {
  return { ...stateOf(row), role: member.role, scopes: [...member.scopes].sort() }
}
