import { BUILT_IN_ROLES } from '../../../core/scope.ts'
import type { Turn } from '../../../core/turn.ts'
import { findMemberships, mergedScopes, type Membership } from '../../workspace/workspaces/index.ts'
import type { StageData } from './schemas.ts'

/** A member as approvals see them. */
export interface Candidate {
  readonly userId: string
  readonly roleId: string
  readonly groupIds: readonly string[]
  readonly canApprove: boolean
  readonly canManage: boolean
}

/** Turns do not change members and approvals at once, so one read is enough for a turn. */
const known = new WeakMap<Turn, Promise<readonly Candidate[]>>()

/** The members of the turn's workspace. */
export function candidatesOf(turn: Turn): Promise<readonly Candidate[]> {
  const found = known.get(turn) ?? findMemberships(turn.sql, { workspaceId: turn.workspaceId }).then(toCandidates)
  known.set(turn, found)
  return found
}

function toCandidates(members: readonly Membership[]): Candidate[] {
  return members.map((member) => {
    const scopes = mergedScopes(member)
    return {
      userId: member.userId,
      roleId: member.role ?? member.roleId ?? '',
      groupIds: member.groups.map(({ _id }) => _id),
      canApprove: scopes.has('posts:approve'),
      canManage: scopes.has('approvals:manage'),
    }
  })
}

/** Whether a stage names a member: by person, role or group. */
export function isNamed({ userIds, roleIds, groupIds }: StageData['approvers'], member: Candidate): boolean {
  return (
    userIds.includes(member.userId) ||
    roleIds.includes(member.roleId) ||
    member.groupIds.some((id) => groupIds.includes(id))
  )
}

/** Whether everybody with a built-in role can approve posts. */
export function roleApproves(roleId: string): boolean | undefined {
  if (!Object.hasOwn(BUILT_IN_ROLES, roleId)) return undefined
  const scopes: readonly string[] = BUILT_IN_ROLES[roleId as keyof typeof BUILT_IN_ROLES]
  return scopes.includes('posts:approve')
}
