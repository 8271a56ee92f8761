import { Foundation } from './0001-foundation.ts'
import { People } from './0002-people.ts'
import { Workspaces } from './0003-workspaces.ts'
import { Streams } from './0004-streams.ts'
import { Team } from './0010-team.ts'
import { TurnOutcomes } from './0012-turn-outcomes.ts'
import { Live } from './0019-live.ts'
import { Jobs } from './0016-jobs.ts'
import { Chat } from './0013-chat.ts'
import { ChatAttachments } from './0014-chat-attachments.ts'
import { EventAudiences } from './0015-event-audiences.ts'
import { Assets } from './0017-assets.ts'
import { ChatResends } from './0026-chat-resends.ts'
import { Placement } from './0023-placement.ts'
import { Preview } from './0027-preview.ts'
import { ProfilePictures } from './0018-profile-pictures.ts'
import { Renditions } from './0024-renditions.ts'
import { Broadcast } from './0021-broadcast.ts'
import { Whip } from './0020-whip.ts'
import { Recording } from './0022-recording.ts'
import { PresenceRecords } from './0019-presence.ts'
import { Unannounced } from './0025-unannounced.ts'

/** In order. A migration that has shipped is never changed; what it made is changed by a later one. */
export const migrations = [
  { name: '0001-foundation', class: Foundation },
  { name: '0002-people', class: People },
  { name: '0003-workspaces', class: Workspaces },
  { name: '0004-streams', class: Streams },
  { name: '0010-team', class: Team },
  { name: '0012-turn-outcomes', class: TurnOutcomes },
  { name: '0016-jobs', class: Jobs },
  { name: '0013-chat', class: Chat },
  { name: '0014-chat-attachments', class: ChatAttachments },
  { name: '0015-event-audiences', class: EventAudiences },
  { name: '0017-assets', class: Assets },
  { name: '0019-presence', class: PresenceRecords },
  { name: '0019-live', class: Live },
  { name: '0021-broadcast', class: Broadcast },
  { name: '0026-chat-resends', class: ChatResends },
  { name: '0022-recording', class: Recording },
  { name: '0027-preview', class: Preview },
  { name: '0018-profile-pictures', class: ProfilePictures },
  { name: '0020-whip', class: Whip },
  { name: '0024-renditions', class: Renditions },
  { name: '0025-unannounced', class: Unannounced },
  { name: '0023-placement', class: Placement },
]
