import { MINUTE, type Clock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Services } from '../../../../core/services.ts'
import type { Database } from '../../../../db/database.ts'
import type { Where } from '../../../../db/condition.ts'
import type { Row } from '../../../../db/row.ts'
import { textsFor } from '../../../../language/texts.ts'
import { renderMail } from '../../../../mail/layout.ts'
import type { Mail } from '../../../../mail/mailer.ts'
import type { Postman } from '../../../../mail/postman.ts'
import { findAdministrators } from '../../../identity/users/index.ts'
import { render } from '../../../talk/notifications/index.ts'
import { schedulerRecovered, schedulerStopped, publicationBeats, type PublicationBeat } from '../../posts/index.ts'

type Beat = Row<typeof PublicationBeat>

interface Needs extends Pick<Services, 'mailer' | 'notifications'> {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly postman: Postman
}

/**
 * Tells the administrators, in the app and by mail, that the scheduler of posts stands still or runs again. The node
 * that has noticed it does so itself, because the jobs that usually send notifications and mails may stand still too.
 */
export class SchedulerAlerts {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param beat as the node has read it. Of several nodes that notice the same incident, one tells it */
  async stopped({ beatAt, name }: Beat): Promise<void> {
    await this.#tell(schedulerStopped, { name, beatAt, stoppedAt: null }, { since: beatAt, stoppedAt: beatAt })
  }

  /** @param stoppedAt its last run before it stood still */
  async recovered({ name }: Beat, stoppedAt: string): Promise<void> {
    await this.#tell(schedulerRecovered, { name, stoppedAt }, { since: stoppedAt, stoppedAt: null })
  }

  async #tell(
    { name: type }: typeof schedulerStopped | typeof schedulerRecovered,
    unchanged: Where<Beat>,
    { since, stoppedAt }: { since: string; stoppedAt: string | null },
  ): Promise<void> {
    const { clock, database, notifications } = this.#needs
    const data = { minutes: Math.round((clock.now() - Date.parse(since)) / MINUTE) }
    const { notices, notified } = await database.transaction(async (tx) => {
      const isFirst = (await publicationBeats.update(tx, unchanged, { stoppedAt })) > 0
      const administrators = isFirst ? await findAdministrators(tx) : []
      const happened = {
        type,
        userIds: administrators.map(({ id }) => id),
        actorId: null,
        data,
        workspaceId: undefined,
      }
      return { notified: administrators, notices: await notifications.dispatcher.dispatch(tx, happened) }
    })
    notifications.inbox.announce(notices)
    for (const { email, locale } of notified) {
      const texts = textsFor(locale)
      const { text, title } = render(texts, { type, data, actors: [], people: 0, count: 1 })
      await this.#send(renderMail(email, title, text, { texts }))
    }
  }

  /** Sends a mail at once. If that fails, it is left to the job that sends mails. */
  async #send(mail: Mail): Promise<void> {
    const { clock, database, log, mailer, postman } = this.#needs
    try {
      await mailer.send(mail, uuidv7(clock.now()))
    } catch (error) {
      log.warn({ error }, 'a mail about the scheduler of posts could not be sent at once')
      await postman.post(database, mail)
    }
  }
}
