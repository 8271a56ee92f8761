import type { Member } from '../core/caller.ts'
import type { Scope } from '../core/scope.ts'

/** Names of rooms. Clients never see them; all of a workspace's begin alike. */

export const userRoom = (userId: string): string => `user:${userId}`
export const workspaceRoom = (workspaceId: string): string => `workspace:${workspaceId}`

/** Those in a workspace who hold a scope: one room each, so that an event goes out with one broadcast. */
export const scopeRoom = (workspaceId: string, scope: Scope): string => `${workspaceRoom(workspaceId)}:${scope}`

/** The members of a private channel or direct conversation, as far as they may read chat. */
export const channelRoom = (workspaceId: string, channelId: string): string =>
  `${workspaceRoom(workspaceId)}:channel:${channelId}`

/** Without it a member is in no channel. */
const CHANNEL_SCOPE: Scope = 'chat:read'

/** What somebody is in one workspace: what their rooms follow from. */
export interface Place {
  readonly member: Member
  /** Private channels and direct conversations. */
  readonly channels: readonly string[]
}

/** @param scopes those that some event asks for: no other makes a room */
export function roomsOf({ member, channels }: Place, scopes: readonly Scope[]): string[] {
  const { workspaceId } = member
  return [
    workspaceRoom(workspaceId),
    ...scopes.filter((scope) => member.scopes.has(scope)).map((scope) => scopeRoom(workspaceId, scope)),
    ...(member.scopes.has(CHANNEL_SCOPE) ? channels.map((channelId) => channelRoom(workspaceId, channelId)) : []),
  ]
}
