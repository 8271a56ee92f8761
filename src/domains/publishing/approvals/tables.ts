import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import type { Row } from '../../../db/row.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { StageData } from './schemas.ts'

/** The approval flow of a workspace. */
const ApprovalFlow = defineEntity({
  name: 'ApprovalFlow',
  tableName: 'approval_flows',
  properties: {
    workspaceId: references(Workspace, { name: 'approval_flows_workspace_id_fkey', onDelete: 'cascade' }).primary(),
    stages: p.json<readonly StageData[]>(),
    authorsMayApprove: p.boolean(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const approvalFlows = table(ApprovalFlow)
export type FlowRow = Row<typeof ApprovalFlow>

/** A link that lets a guest without an account see posts and decide on them. */
const ApprovalGuest = defineEntity({
  name: 'ApprovalGuest',
  tableName: 'approval_guests',
  uniques: [{ name: 'approval_guests_token_key', properties: ['tokenHash'] }],
  indexes: [{ name: 'approval_guests_by_workspace', properties: ['workspaceId', 'id'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'approval_guests_workspace_id_fkey', onDelete: 'cascade' }),
    name: p.text(),
    /** SHA-256 of the token, which is random and long. */
    tokenHash: p.text(),
    /** argon2id. Null without a passcode. */
    passcodeHash: p.text().nullable(),
    /** Wrong passcodes since the last right one, or since the last lock. */
    failedTries: p.integer().default(0),
    lockedUntil: timestamp().nullable(),
    /** Which posts the link shows: one, those of a label or an account, or all that guests decide on. */
    postId: p.uuid().nullable(),
    label: p.text().nullable(),
    accountId: p.uuid().nullable(),
    timezone: p.text(),
    expiresAt: timestamp(),
    revokedAt: timestamp().nullable(),
    lastSeenAt: timestamp().nullable(),
    createdBy: p.uuid(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const approvalGuests = table(ApprovalGuest)
export type GuestRow = Row<typeof ApprovalGuest>

export const approvalEntities = [ApprovalFlow, ApprovalGuest]
