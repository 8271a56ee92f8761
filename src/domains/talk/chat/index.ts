/** What other domains and the composition use of chat. */

export { findAttachments } from './attachments.ts'
export type { ChannelMembers } from './channel-members.ts'
export { composeChat } from './compose.ts'
