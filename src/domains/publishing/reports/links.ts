import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { isUuid } from '../../../core/id.ts'

/** What a link in a mail about reports does. `file` has the id of a delivery, the others that of a recipient. */
const PURPOSES = ['confirm', 'unsubscribe', 'file'] as const
export type LinkPurpose = (typeof PURPOSES)[number]

export interface ReportLink {
  readonly purpose: LinkPurpose
  readonly id: string
}

/**
 * Links in mails about reports, for people who need no account. They are signed, and valid as long as the row that they
 * name exists.
 */
export class ReportLinks {
  readonly #key: Buffer
  readonly #publicUrl: string

  constructor(secret: string, publicUrl: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'crier', 'report links', 32))
    this.#publicUrl = publicUrl
  }

  url(link: ReportLink): string {
    const path = link.purpose === 'file' ? 'report-files' : 'report-mails'
    return `${this.#publicUrl}/api/${path}/${this.#token(link)}`
  }

  /** Undefined if the token was not made here. */
  read(token: string): ReportLink | undefined {
    const [payload = '', signature = ''] = token.split('.', 2)
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#sign(payload))]
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
    const [name, id = ''] = Buffer.from(payload, 'base64url').toString().split(' ', 2)
    const purpose = PURPOSES.find((one) => one === name)
    return purpose === undefined || !isUuid(id) ? undefined : { purpose, id }
  }

  #token({ id, purpose }: ReportLink): string {
    const payload = Buffer.from(`${purpose} ${id}`).toString('base64url')
    return `${payload}.${this.#sign(payload)}`
  }

  #sign(payload: string): string {
    return createHmac('sha256', this.#key).update(payload).digest('base64url')
  }
}
