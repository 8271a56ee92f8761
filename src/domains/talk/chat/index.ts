/** The parts of chat that other domains and the composition use. */

export type { ChannelMembers } from './channel-members.ts'
export { writableChannel } from './channel-cache.ts'
