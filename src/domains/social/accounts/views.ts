import { findPlatform } from '../../../platforms/registry.ts'
import type { KnownCapabilities } from './capabilities.ts'
import type { CreatorInfoData, SocialAccountData } from './schemas.ts'
import type { SocialAccountRow } from './tables.ts'

/** The API's view of an account. It is stored with the account, so that lists do not build it again. */
export function accountView(row: Omit<SocialAccountRow, 'view'>): SocialAccountData {
  const purposes = findPlatform(row.platform)?.oauth?.scopePurposes ?? {}
  return {
    _id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    workspaceId: row.workspaceId,
    platform: row.platform,
    remoteId: row.remoteId,
    loginAccountId: row.loginId,
    name: row.name,
    handle: row.handle,
    avatarUrl: row.avatarUrl,
    url: row.url,
    kind: row.kind,
    status: row.status,
    statusMessage: row.statusReason,
    scopes: row.scopes,
    missingScopes: row.missingScopes.map((scope) => ({ scope, prevents: purposes[scope] ?? 'some functions' })),
    expiresAt: row.expiresAt,
    sandbox: row.sandbox,
    connectedAt: row.connectedAt,
    checkedAt: row.checkedAt,
    removedAt: row.removedAt,
  }
}

/** The API's view of what an account can do. */
export function creatorView({ blocked, checkedAt, details, isCurrent, limits }: KnownCapabilities): CreatorInfoData {
  const at = new Date(checkedAt).toISOString()
  const unavailable = Object.entries(blocked).map(([capability, reason]) => ({ capability, reason }))
  return { limits: { ...limits }, unavailable, details: { ...details }, checkedAt: at, isCurrent }
}
