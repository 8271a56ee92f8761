import { isUuid } from '../../../tools/id.ts'
import { SignedTokens } from '../../../tools/signed-tokens.ts'

/** What a link in a mail about reports does. The id is of a delivery for `file`, and of a recipient for the others. */
const PURPOSES = ['confirm', 'unsubscribe', 'file'] as const
export type LinkPurpose = (typeof PURPOSES)[number]

export interface ReportLink {
  readonly purpose: LinkPurpose
  readonly id: string
}

/** Links in mails about reports, for people without an account. They are signed, and valid while the row they name exists. */
export class ReportLinks {
  readonly #tokens: SignedTokens
  readonly #publicUrl: string

  constructor(secret: string, publicUrl: string) {
    this.#tokens = new SignedTokens(secret, 'report links')
    this.#publicUrl = publicUrl
  }

  /** @param domain of the workspace, which leads to this server. Null for that of the server */
  url({ id, purpose }: ReportLink, domain: string | null): string {
    const root = domain === null ? this.#publicUrl : `${new URL(this.#publicUrl).protocol}//${domain}`
    const path = purpose === 'file' ? 'report-files' : 'report-mails'
    return `${root}/api/${path}/${this.#tokens.sign(`${purpose} ${id}`)}`
  }

  /** Undefined if the token was not made here. */
  read(token: string): ReportLink | undefined {
    const [name, id = ''] = this.#tokens.read(token)?.split(' ', 2) ?? []
    const purpose = PURPOSES.find((one) => one === name)
    return purpose === undefined || !isUuid(id) ? undefined : { purpose, id }
  }
}
