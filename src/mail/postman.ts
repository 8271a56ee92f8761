import type { Jobs } from '../core/job.ts'
import type { Sql, Transaction } from '../core/sql.ts'
import { sendMail } from './jobs.ts'
import type { Mail } from './mailer.ts'

/**
 * Takes mails in the transaction that calls for them: they leave after its commit and never without it, and no reply
 * waits for a mail server. Inside a turn it is `turn.job(sendMail, mail)`.
 */
export class Postman {
  readonly #jobs: Jobs

  constructor(jobs: Jobs) {
    this.#jobs = jobs
  }

  async post(sql: Sql | Transaction, mail: Mail): Promise<void> {
    await this.#jobs.add(sql, sendMail, { ...mail })
  }
}
