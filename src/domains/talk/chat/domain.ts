import { domain } from '../../../domain.ts'
import { composeChat } from './compose.ts'
import { chatEntities } from './tables.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'

export const chat = domain({
  personal,
  name: 'chat',
  about: 'Channels, direct conversations and their messages',
  operations,
  events,
  notifications,
  jobs,
  entities: chatEntities,
  compose: composeChat,
})
