import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'
import { waitFor } from './wait.ts'

/** The mails that a node without SMTP_URL writes to files. */
export class Outbox {
  readonly #folder: string
  /** A file of a mail is complete when it gets its name, and never changes. */
  readonly #parsed = new Map<string, Promise<Email>>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Every mail so far to an address, or all mails, oldest first. */
  async mails(address?: string): Promise<Email[]> {
    const names = await readdir(this.#folder).catch(() => [] as string[])
    const files = names.filter((name) => name.endsWith('.eml')).sort()
    const mails = await Promise.all(files.map((name) => this.#read(name)))
    return mails.filter((mail) => address === undefined || recipients(mail).includes(address.toLowerCase()))
  }

  #read(name: string): Promise<Email> {
    let mail = this.#parsed.get(name)
    if (mail === undefined) {
      mail = readFile(join(this.#folder, name)).then((content) => PostalMime.parse(content))
      this.#parsed.set(name, mail)
    }
    return mail
  }

  /** Waits for a mail to an address, and returns the newest whose subject matches. */
  async newest(address: string, subject: RegExp = /./): Promise<Email> {
    return waitFor(async () => (await this.mails(address)).findLast((mail) => subject.test(mail.subject ?? '')), {
      what: `a mail to ${address} with the subject ${subject}`,
    })
  }

  /** The six-digit code in the newest mail to an address. */
  async code(address: string): Promise<string> {
    const mail = await this.newest(address)
    const code = /\b\d{6}\b/.exec(mail.text ?? '')?.[0]
    if (code === undefined) throw new Error(`the newest mail to ${address} has no code: ${mail.subject}`)
    return code
  }
}

function recipients(mail: Email): string[] {
  return (mail.to ?? []).map((recipient) => (recipient.address ?? '').toLowerCase())
}
