/** What other domains may use of workspaces. */

export { Workspace, WorkspaceMember } from './entities.ts'
export { onlyMembers, requireMembers } from './named-members.ts'
