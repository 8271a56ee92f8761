import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { ChatAttachments, findAttachments } from './attachments.ts'
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
    readonly chat: ReturnType<typeof composeChat>['services']['chat']
  }
}

/** Builds the services of the domain. */
export function composeChat(
  foundation: Foundation,
  { assets, plans, workspaces }: Pick<Services, 'assets' | 'plans' | 'workspaces'>,
) {
  const { clock, config, coordination, database, onAgain, searches, storage } = foundation
  const attachments = new ChatAttachments(database, clock, storage)
  assets.housekeeping.keep(findAttachments)
  const memberships = new ChannelMemberships(database, coordination)
  workspaces.eventLog.channels.provide(memberships)
  onAgain((workspaceId) => memberships.changedIn(workspaceId))
  const chat = {
    channels: new ChannelService(clock, memberships, plans),
    channelList: new ChannelList(database),
    channelMembers: new ChannelMembers(clock, memberships),
    memberships,
    attachments,
    log: new ChatLog(database),
    logRetention: new ChatLogRetention(database, clock),
    reads: new ChatReads(clock),
    search: new ChatSearch(searches),
    reactionsAndPins: new ReactionsAndPins(clock),
    messageList: new MessageList(database),
    messages: new Messages(clock, new MessageRateLimit(clock, config.RATE_LIMITS), attachments),
  }
  return { services: { chat } }
}
