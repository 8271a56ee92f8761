import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../core/log.ts'
import { MailRefusedError, type Mail, type Mailer } from './mailer.ts'

const LAST_CHANCE_MS = 3_000

export interface PostmanOptions {
  /** Milliseconds to wait before the second, third, … try. */
  readonly pauses?: readonly number[]
  readonly concurrency?: number
  /** Mails that wait at most; further ones are logged as lost. */
  readonly capacity?: number
}

/**
 * Sends mails after the commit that called for them, so that no reply waits for a mail server and no failure of one
 * undoes what was committed. It tries again for about two minutes, then logs an error with recipient and subject.
 *
 * What waits here is lost with the process: a code or link can be asked for again. When jobs are stored (the outbox
 * table), mails become jobs and this goes.
 */
export class Postman {
  readonly #mailer: Mailer
  readonly #log: Logger
  readonly #pauses: readonly number[]
  readonly #concurrency: number
  readonly #capacity: number
  readonly #waiting: Mail[] = []
  readonly #underWay = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(mailer: Mailer, log: Logger, options: PostmanOptions = {}) {
    this.#mailer = mailer
    this.#log = log
    this.#pauses = options.pauses ?? [1_000, 4_000, 15_000, 30_000, 60_000]
    this.#concurrency = options.concurrency ?? 3
    this.#capacity = options.capacity ?? 1_000
  }

  get destination(): string {
    return this.#mailer.destination
  }

  /** Takes a mail. Never throws and never waits. */
  post(mail: Mail): void {
    if (this.#waiting.length >= this.#capacity) {
      this.#log.error({ to: mail.to, subject: mail.subject }, 'a mail was lost: too many are waiting')
      return
    }
    this.#waiting.push(mail)
    this.#next()
  }

  /** Gives every mail that waits one last chance, for three seconds at most, then closes the mailer. */
  async close(): Promise<void> {
    this.#closing.abort()
    const over = new AbortController()
    const rest = async () => {
      while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
      over.abort()
    }
    await Promise.race([rest(), delay(LAST_CHANCE_MS, undefined, { signal: over.signal }).catch(() => undefined)])
    const lost = this.#waiting.length + this.#underWay.size
    if (lost > 0) this.#log.error({ lost }, 'mails were lost in the shutdown')
    await this.#mailer.close()
  }

  #next(): void {
    while (this.#underWay.size < this.#concurrency) {
      const mail = this.#waiting.shift()
      if (mail === undefined) return
      const sending = this.#send(mail).finally(() => {
        this.#underWay.delete(sending)
        this.#next()
      })
      this.#underWay.add(sending)
    }
  }

  async #send(mail: Mail): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      try {
        await this.#mailer.send(mail)
        return
      } catch (error) {
        const pause = this.#pauses[tries]
        const about = { error, to: mail.to, subject: subjectWithoutCode(mail.subject), tries: tries + 1 }
        if (pause === undefined || error instanceof MailRefusedError || this.#closing.signal.aborted) {
          this.#log.error(about, 'a mail could not be sent')
          return
        }
        this.#log.warn(about, 'a mail could not be sent yet')
        await delay(pause, undefined, { signal: this.#closing.signal }).catch(() => undefined)
      }
    }
  }
}

/** Subjects of sign-up mails hold the code, which belongs in no log. */
function subjectWithoutCode(subject: string): string {
  return subject.replaceAll(/\d{4,}/g, '…')
}
