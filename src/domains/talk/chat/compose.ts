import type { Clock } from '../../../core/clock.ts'
import type { Services } from '../../../core/services.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import type { Database } from '../../../db/database.ts'
import type { Searches } from '../../../db/searches.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { Storage } from '../../../storage/storage.ts'
import { ChatAttachments } from './attachments.ts'
import { ChannelList } from './channel-list.ts'
import { ChannelMembers } from './channel-members.ts'
import { ChannelPeople } from './channel-people.ts'
import { ChannelService } from './channels.ts'
import { ChatLog } from './chat-log.ts'
import { ChatLogRetention } from './log-retention.ts'
import { ReactionsAndPins } from './reactions-and-pins.ts'
import { MessageList } from './message-list.ts'
import { Messages } from './messages.ts'
import { MessageRateLimit } from './message-rate-limit.ts'
import { ChatReads } from './reads.ts'
import { ChatSearch } from './search.ts'

export interface ChatNeeds {
  readonly database: Database
  readonly clock: Clock
  readonly coordination: Coordination
  readonly storage: Storage
  readonly plans: PlanService
  readonly searches: Searches
  /** Whether the limit on messages per second applies. */
  readonly rateLimited: boolean
}

type ChatServices = Pick<
  Services,
  | 'channels'
  | 'channelList'
  | 'channelMembers'
  | 'chatAttachments'
  | 'chatLog'
  | 'chatLogRetention'
  | 'chatReads'
  | 'chatSearch'
  | 'reactionsAndPins'
  | 'messageList'
  | 'messages'
>

/** Builds the services of the domain, and the lookup of who is in which channel. */
export function composeChat({ clock, coordination, database, rateLimited, plans, searches, storage }: ChatNeeds): {
  readonly services: ChatServices
  readonly people: ChannelPeople
} {
  const chatAttachments = new ChatAttachments(database, clock, storage)
  const people = new ChannelPeople(database, coordination)
  return {
    people,
    services: {
      channels: new ChannelService(clock, people, plans),
      channelList: new ChannelList(database),
      channelMembers: new ChannelMembers(clock, people),
      chatAttachments,
      chatLog: new ChatLog(database),
      chatLogRetention: new ChatLogRetention(database, clock),
      chatReads: new ChatReads(clock),
      chatSearch: new ChatSearch(searches),
      reactionsAndPins: new ReactionsAndPins(clock),
      messageList: new MessageList(database),
      messages: new Messages(clock, new MessageRateLimit(clock, rateLimited), chatAttachments),
    },
  }
}
