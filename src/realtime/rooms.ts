import type { Member } from '../core/caller.ts'
import type { Scope } from '../core/scope.ts'

/** Names of socket.io rooms. Clients never see them. All rooms of a workspace share a prefix. */

export const userRoom = (userId: string): string => `user:${userId}`
export const workspaceRoom = (workspaceId: string): string => `workspace:${workspaceId}`

/** The members of a workspace with a scope. One room per scope, so that an event needs one broadcast. */
export const scopeRoom = (workspaceId: string, scope: Scope): string => `${workspaceRoom(workspaceId)}:${scope}`

/** The members of a private channel or direct conversation who may read chat. */
export const channelRoom = (workspaceId: string, channelId: string): string =>
  `${workspaceRoom(workspaceId)}:channel:${channelId}`

/** Members without this scope are in no channel room. */
const CHANNEL_SCOPE: Scope = 'chat:read'

/** What a user may receive in one workspace. Their rooms follow from it. */
export interface Access {
  readonly member: Member
  /** Private channels and direct conversations. */
  readonly channels: readonly string[]
}

/** @param scopes the scopes that some event requires. Others need no room */
export function roomsOf({ member, channels }: Access, scopes: readonly Scope[]): string[] {
  const { workspaceId } = member
  return [
    workspaceRoom(workspaceId),
    ...scopes.filter((scope) => member.scopes.has(scope)).map((scope) => scopeRoom(workspaceId, scope)),
    ...(member.scopes.has(CHANNEL_SCOPE) ? channels.map((channelId) => channelRoom(workspaceId, channelId)) : []),
  ]
}
