import type { Member } from '../core/caller.ts'
import type { Channels } from '../core/ports.ts'
import type { Access } from './rooms.ts'

/** Reads members and channels. */
export interface AccessSource {
  /** All memberships of a user. */
  membershipsOf(userId: string): Promise<readonly Member[]>
  /** The workspaces of which each of the users is a member. */
  workspacesOf(userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Which of the users are members of a workspace. Always reads the database. */
  membersAmong(workspaceId: string, userIds: readonly string[]): Promise<readonly Member[]>
  readonly channels: Channels
}

/** The access of a user in each of their workspaces, by workspace. */
export async function accessOf(source: AccessSource, userId: string): Promise<Map<string, Access>> {
  const members = await source.membershipsOf(userId)
  const access = await Promise.all(
    members.map(async (member) => {
      const channels = await source.channels.of(member.workspaceId, [userId])
      return { member, channels: channels.get(userId) ?? [] }
    }),
  )
  return new Map(access.map((one) => [one.member.workspaceId, one]))
}

/** The access of some users in one workspace, by user. */
export async function accessIn(
  source: AccessSource,
  workspaceId: string,
  userIds: readonly string[],
): Promise<Map<string, Access>> {
  const members = await source.membersAmong(workspaceId, userIds)
  const channels =
    members.length === 0
      ? undefined
      : await source.channels.of(
          workspaceId,
          members.map(({ userId }) => userId),
        )
  return new Map(members.map((member) => [member.userId, { member, channels: channels?.get(member.userId) ?? [] }]))
}
