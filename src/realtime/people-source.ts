import type { Member } from '../core/caller.ts'
import type { Channels } from '../core/ports.ts'
import type { Place } from './rooms.ts'

/** Where the people of a workspace are found. */
export interface PeopleSource {
  /** Every membership of a user, read now. */
  membershipsOf(userId: string): Promise<readonly Member[]>
  /** The workspaces of which each of the users is a member. */
  workspacesOf(userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Those of the users who are members of a workspace, read now. */
  membersAmong(workspaceId: string, userIds: readonly string[]): Promise<readonly Member[]>
  readonly channels: Channels
}

/** Every place of a user. */
export async function placesOf(source: PeopleSource, userId: string): Promise<Map<string, Place>> {
  const members = await source.membershipsOf(userId)
  const places = await Promise.all(
    members.map(async (member) => {
      const channels = await source.channels.of(member.workspaceId, [userId])
      return { member, channels: channels.get(userId) ?? [] }
    }),
  )
  return new Map(places.map((place) => [place.member.workspaceId, place]))
}

/** The places of some users in one workspace, by user. */
export async function placesIn(
  source: PeopleSource,
  workspaceId: string,
  userIds: readonly string[],
): Promise<Map<string, Place>> {
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
