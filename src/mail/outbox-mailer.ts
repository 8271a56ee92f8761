import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import { DAY, HOUR, type Clock } from '../core/clock.ts'
import { secretToken } from '../tools/id.ts'
import { messageIdOf, type Mail, type Mailer } from './mailer.ts'

/**
 * Writes every mail to an `.eml` file that is named by time and recipient, so that it can be read without a mail server.
 * Files are renamed into place, so a file is always complete.
 */
export class OutboxMailer implements Mailer {
  readonly destination: string
  readonly #folder: string
  readonly #from: string
  readonly #clock: Clock
  readonly #timer: NodeJS.Timeout
  readonly #keptMs: number
  #count = 0
  #transport: Transporter | undefined

  /** @param keptDays days after which a mail is removed */
  constructor(folder: string, from: string, clock: Clock, keptDays = 30) {
    this.#keptMs = keptDays * DAY
    this.#timer = setInterval(() => void this.sweep().catch(() => undefined), HOUR).unref()
    void this.sweep().catch(() => undefined)
    this.destination = folder
    this.#folder = folder
    this.#from = from
    this.#clock = clock
  }

  async send(mail: Mail, id: string): Promise<void> {
    const date = new Date(this.#clock.now())
    const messageId = messageIdOf(id, this.#from)
    this.#transport ??= await streamTransport()
    const { message } = await this.#transport.sendMail({ ...mail, from: this.#from, date, messageId })
    await this.check()
    const file = join(this.#folder, this.#name(mail.to, date))
    const draft = `${file}.${secretToken(6)}.part`
    try {
      await writeWhole(draft, message as Buffer)
      await rename(draft, file)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  async check(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
  }

  /** Deletes mails that are older than `keptDays`. Files with other names stay. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => [])
    for (const name of names) {
      const [, day, hour, minute, rest] = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3}Z)-\d{6}-/.exec(name) ?? []
      const at = Date.parse(`${day}${hour}:${minute}:${rest}`)
      if (at < this.#clock.now() - this.#keptMs) await rm(join(this.#folder, name), { force: true })
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
  }

  /** `2026-11-21T18-00-00.000Z-000001-ada@example.com.eml`: sorted by time, also within a millisecond. */
  #name(recipient: string, date: Date): string {
    this.#count += 1
    const safe = recipient.replaceAll(/[^\w.@+-]/g, '_').slice(0, 100)
    return `${date.toISOString().replaceAll(':', '-')}-${String(this.#count).padStart(6, '0')}-${safe}.eml`
  }
}

/** Formats mails. Nodemailer is loaded with the first mail. */
async function streamTransport() {
  const { createTransport } = await import('nodemailer')
  return createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
}

async function writeWhole(path: string, content: Buffer): Promise<void> {
  // Mails contain codes and links that sign people in, so only the owner of the process may read them.
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}
