import type { Jobs } from '../core/job.ts'
import type { Sql, Transaction } from '../core/sql.ts'
import { sendMail } from './jobs.ts'
import type { Mail } from './mailer.ts'

/**
 * Adds mails in a transaction. They are sent after its commit, and never if it fails, so no reply waits for a mail
 * server. In a turn, use `turn.job(sendMail, mail)`.
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
