import { domain } from '../domain.ts'
import { forgetReplies } from '../http/jobs.ts'
import { IdempotencyKey } from '../http/tables.ts'
import { mailHousekeeping, sendMail } from '../mail/jobs.ts'
import { MailLog } from '../mail/tables.ts'
import * as events from '../realtime/events.ts'
import { UserPresence } from '../realtime/tables.ts'
import { forgetOutcomes } from '../turns/jobs.ts'
import { personal } from './personal-data.ts'
import { turnEntities } from '../turns/tables.ts'

/** What the layers below the domains declare. */
export const foundation = domain({
  name: 'foundation',
  personal,
  events: {
    chatTyping: events.chatTyping,
    presenceChanged: events.presenceChanged,
    viewerUpdated: events.viewerUpdated,
  },
  jobs: { forgetOutcomes, forgetReplies, mailHousekeeping, sendMail },
  entities: [...turnEntities, IdempotencyKey, MailLog, UserPresence],
})
