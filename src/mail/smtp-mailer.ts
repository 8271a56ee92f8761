import { createTransport } from 'nodemailer'
import { MailRefusedError, messageIdOf, type Mail, type Mailer } from './mailer.ts'

const TIMEOUT_MS = 10_000

/** Sends over SMTP with up to three pooled connections. The URL may contain user and password. */
export class SmtpMailer implements Mailer {
  readonly destination: string
  readonly #transport: ReturnType<typeof smtpTransport>
  readonly #from: string

  constructor(url: string, from: string) {
    this.destination = `SMTP at ${new URL(url).host}`
    this.#from = from
    this.#transport = smtpTransport(url)
  }

  async send(mail: Mail, id: string): Promise<void> {
    try {
      await this.#transport.sendMail({ ...mail, from: this.#from, messageId: messageIdOf(id, this.#from) })
    } catch (error) {
      // RFC 5321, section 4.2.1: 5yz is a permanent refusal. A failed login is a configuration error, so it is retried.
      const { responseCode, code } = error as { responseCode?: number; code?: string }
      if (responseCode !== undefined && responseCode >= 500 && code !== 'EAUTH') {
        throw new MailRefusedError(`the mail server refused the mail: ${(error as Error).message}`, { cause: error })
      }
      throw error
    }
  }

  async check(): Promise<void> {
    await this.#transport.verify()
  }

  async close(): Promise<void> {
    this.#transport.close()
  }
}

function smtpTransport(url: string) {
  const { hostname, port, protocol, username, password, searchParams } = new URL(url)
  const secure = protocol === 'smtps:'
  return createTransport({
    pool: true,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    maxConnections: 3,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    ...(searchParams.get('tls') === 'required' ? { requireTLS: true } : {}),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}
