import { escapeHtml } from '../../../tools/html.ts'
import { htmlPage } from '../../../core/html-page.ts'
import { NOTIFICATION_KINDS, type NotificationKind } from '../../../core/notification.ts'
import type { Services } from '../../../core/services.ts'
import { SignedTokens } from '../../../tools/signed-tokens.ts'
import type { Foundation } from '../../../foundation.ts'
import { textsFor, type TextKey, type Texts } from '../../../language/texts.ts'
import { findReaders, type Reader } from '../../identity/users/index.ts'

interface Unsubscription {
  readonly userId: string
  readonly kinds: readonly NotificationKind[]
}

/**
 * Links in mails that turn off mails of some kinds, without a login. They are signed and do not expire, because a mail
 * can be read years later. They can do nothing else.
 */
export class Unsubscriptions {
  readonly #foundation: Pick<Foundation, 'config' | 'database'>
  readonly #users: Services['users']
  readonly #tokens: SignedTokens

  constructor(foundation: Pick<Foundation, 'config' | 'database' | 'secret'>, users: Services['users']) {
    this.#foundation = foundation
    this.#users = users
    this.#tokens = new SignedTokens(foundation.secret, 'unsubscribe links')
  }

  /** The link for a mail about these kinds, with its label. */
  linkFor({ id, language }: Reader, kinds: readonly NotificationKind[]): { url: string; label: string } {
    const url = `${this.#foundation.config.PUBLIC_URL}/api/unsubscribe/${this.#tokens.sign(`${id} ${kinds.join()}`)}`
    const texts = textsFor(language)
    return { url, label: texts.say('mail.unsubscribe', { kind: namesOf(texts, kinds) }) }
  }

  /** The page for people who open the link. It changes nothing: mail scanners open links too. */
  async page(token: string) {
    const found = await this.#find(token)
    if (found === undefined) return invalid()
    const { kind, reader, texts } = found
    const body = `<p>${escapeHtml(texts.say('unsubscribe.ask', { kind }))}</p>
<form method="post"><button>${escapeHtml(texts.say('unsubscribe.button', { kind }))}</button></form>`
    return page(200, texts, body, reader)
  }

  /** Turns the mails off, also if it was done before. */
  async apply(token: string) {
    const found = await this.#find(token)
    if (found === undefined) return invalid()
    const { kind, kinds, reader, texts } = found
    const change = { kinds: Object.fromEntries(kinds.map((name) => [name, { email: false }])) }
    await this.#users.accounts.updateSettings({ userId: reader.id }, 'notifications', change, undefined)
    return page(200, texts, `<p role="status">${escapeHtml(texts.say('unsubscribe.done', { kind }))}</p>`, reader)
  }

  async #find(token: string) {
    const { kinds, userId } = this.#read(token) ?? {}
    if (kinds === undefined || userId === undefined) return undefined
    const [reader] = await findReaders(this.#foundation.database, [userId])
    if (reader === undefined) return undefined
    const texts = textsFor(reader.language)
    return { reader, kinds, texts, kind: namesOf(texts, kinds) }
  }

  #read(token: string): Unsubscription | undefined {
    const text = this.#tokens.read(token)
    if (text === undefined) return undefined
    const [userId = '', names = ''] = text.split(' ', 2)
    // Links of another version may name kinds that this one does not know.
    return { userId, kinds: NOTIFICATION_KINDS.filter((kind) => names.split(',').includes(kind)) }
  }
}

function namesOf(texts: Texts, kinds: readonly NotificationKind[]): string {
  return kinds.map((kind) => texts.say(`kind.${kind}` satisfies TextKey)).join(', ')
}

function invalid() {
  const texts = textsFor('en')
  return page(404, texts, `<p role="alert">${escapeHtml(texts.say('unsubscribe.invalid'))}</p>`)
}

function page<S extends 200 | 404>(status: S, texts: Texts, body: string, reader?: Reader) {
  const title = texts.say('unsubscribe.title')
  return htmlPage(status, { title, body, language: texts.language, ...(reader && { appearance: reader.ui }) })
}
