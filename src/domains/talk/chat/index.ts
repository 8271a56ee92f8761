/** What other domains and the composition use of chat. */

export type { ChannelMembers } from './channel-members.ts'
