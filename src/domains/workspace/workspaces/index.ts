/** What other domains use of workspaces. */

export {
  addGroup,
  addGroupMembers,
  changeGroup,
  countGroups,
  deleteGroup,
  findGroup,
  groupPage,
  isGroupName,
  removeGroupMembers,
  scopesOfOtherGroups,
  type GroupRow,
} from './group-store.ts'
export type { KeptCounts } from './count-checks.ts'
export {
  addMember,
  changeGrant,
  countMembers,
  findMembership,
  findMemberships,
  memberIds,
  membershipPage,
  ownerIds,
  removeMember,
  replaceRole,
  type Grant,
  type Membership,
  type MembershipFilter,
  type ScopeSources,
} from './membership-store.ts'
export { mergedScopes, roleName, type MemberCache } from './memberships.ts'
export { onlyMembers, requireMembers } from './named-members.ts'
export {
  addRole,
  changeRole,
  countBuiltInRoles,
  countRoles,
  deleteRole,
  findRole,
  findRoleByName,
  findRoles,
  listRoles,
  type CountedRole,
  type RoleRow,
} from './role-store.ts'
export { requireStillMember } from './turn-authorizer.ts'
export { Role, Workspace, WorkspaceMember } from './tables.ts'
export type { AiSettingsData } from './schemas.ts'
export {
  aiSettingsOf,
  changePayer,
  countOwned,
  createdAtOf,
  findNames,
  findOwned,
  lockWorkspace,
  ownerOfWorkspace,
  payerOf,
  timeZoneOf,
} from './workspace-store.ts'
