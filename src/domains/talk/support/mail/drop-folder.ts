import { chmod, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../../../core/error.ts'
import type { Logger } from '../../../../core/log.ts'
import type { InboundMails } from './inbound.ts'

const EVERY_MS = 2_000
/** The largest mail that is taken, in bytes. */
export const MAX_MAIL_BYTES = 25 * 1024 * 1024

/**
 * Takes mails from a folder of this node, for a mail server on the same machine. A mail is a file that ends in `.eml`,
 * renamed into place when it is complete. It is deleted when it was taken. One that cannot be read is moved to `failed`.
 */
export class DropFolder {
  readonly #folder: string
  readonly #mails: InboundMails
  readonly #log: Logger
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(folder: string, mails: InboundMails, log: Logger) {
    this.#folder = folder
    this.#mails = mails
    this.#log = log
  }

  async start(): Promise<void> {
    await mkdir(join(this.#folder, 'failed'), { recursive: true, mode: 0o700 })
    this.#plan()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** Takes the mails that are there. A mail that fails for another reason than its content stays for the next time. */
  async sweep(): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith('.eml')).toSorted()
    for (const name of names) {
      if (this.#isClosed) return
      const path = join(this.#folder, name)
      const error = await this.#take(path)
      if (error !== undefined) {
        this.#log.warn({ error, name }, 'a mail to the support team could not be read')
        // The mail server chose its mode. If it belongs to another user, only that user can change it.
        await chmod(path, 0o600).catch(() => undefined)
        await rename(path, join(this.#folder, 'failed', name))
      }
    }
  }

  #plan(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#running = this.sweep()
        .catch((error: unknown) => this.#log.warn({ error }, 'mails to the support team could not be taken'))
        .then(() => this.#plan())
    }, EVERY_MS)
    this.#timer.unref()
  }

  /** @returns why a mail can never be taken. @throws AppError when the database or the storage is away */
  async #take(path: string): Promise<unknown> {
    if ((await stat(path)).size > MAX_MAIL_BYTES) return new Error('the mail is too large')
    try {
      await this.#mails.take(await readFile(path))
    } catch (error) {
      if (error instanceof AppError && error.status >= 500) throw error
      return error
    }
    await rm(path)
    return undefined
  }
}
