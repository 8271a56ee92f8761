import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { ChatAttachments } from './attachments.ts'
import { ChannelList } from './channel-list.ts'
import { ChannelMembers } from './channel-members.ts'
import { ChannelMemberships } from './channel-memberships.ts'
import { ChannelService } from './channels.ts'
import { ChatLog } from './chat-log.ts'
import { ChatLogRetention } from './log-retention.ts'
import { ReactionsAndPins } from './reactions-and-pins.ts'
import { MessageList } from './message-list.ts'
import { Messages } from './messages.ts'
import { MessageRateLimit } from './message-rate-limit.ts'
import { ChatReads } from './reads.ts'
import { ChatSearch } from './search.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly chat: ReturnType<typeof composeChat>['services']
  }
}

/** Builds the services of the domain, and the lookup of who is in which channel. */
export function composeChat(foundation: Foundation, { plans }: { readonly plans: PlanService }) {
  const { clock, config, coordination, database, searches, storage } = foundation
  const attachments = new ChatAttachments(database, clock, storage)
  const memberships = new ChannelMemberships(database, coordination)
  return {
    memberships,
    services: {
      channels: new ChannelService(clock, memberships, plans),
      channelList: new ChannelList(database),
      channelMembers: new ChannelMembers(clock, memberships),
      attachments,
      log: new ChatLog(database),
      logRetention: new ChatLogRetention(database, clock),
      reads: new ChatReads(clock),
      search: new ChatSearch(searches),
      reactionsAndPins: new ReactionsAndPins(clock),
      messageList: new MessageList(database),
      messages: new Messages(clock, new MessageRateLimit(clock, config.RATE_LIMITS), attachments),
    },
  }
}
