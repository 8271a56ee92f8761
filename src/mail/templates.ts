import { textsFor, type Texts } from '../language/texts.ts'
import type { Mail } from './mailer.ts'
import { renderMail, type Block } from './layout.ts'
import { plainName, quotedName } from './user-text.ts'

/** The recipient of a mail. */
export interface Recipient {
  readonly email: string
  readonly name: string
  /** The language tag of the profile. English when absent. */
  readonly locale?: string
}

function write({ email, locale = 'en' }: Omit<Recipient, 'name'>, of: (texts: Texts) => [string, ...Block[]]): Mail {
  const texts = textsFor(locale)
  const [subject, ...blocks] = of(texts)
  return renderMail(email, subject, blocks, { texts })
}

const hello = (texts: Texts, { name }: Recipient): string =>
  name === '' ? texts.say('mail.hello') : texts.say('mail.helloName', { name: plainName(name) })

/** Anyone can send this mail to any address, so it contains no text from the user. */
export function verificationMail(to: Pick<Recipient, 'email' | 'locale'>, code: string): Mail {
  return write(to, (texts) => [
    texts.say('mail.code.subject', { code }),
    texts.say('mail.hello'),
    texts.say('mail.code.text'),
    { code },
    texts.say('mail.code.ignore'),
  ])
}

export function welcomeMail(to: Recipient, url: string): Mail {
  return write(to, (texts) => [
    texts.say('mail.welcome.subject'),
    hello(texts, to),
    texts.say('mail.welcome.text'),
    { link: `${url}/docs`, label: texts.say('mail.welcome.link') },
  ])
}

/** Sent when the user who confirmed the address has not proved to be the one who signed up. */
export function confirmedElsewhereMail(to: Recipient, url: string, token: string): Mail {
  return write(to, (texts) => [
    texts.say('mail.elsewhere.subject'),
    hello(texts, to),
    texts.say('mail.elsewhere.text'),
    resetLink(texts, url, token),
    texts.say('mail.reset.token'),
    token,
  ])
}

export function passwordResetMail(to: Recipient, url: string, token: string): Mail {
  return write(to, (texts) => [
    texts.say('mail.reset.subject'),
    hello(texts, to),
    texts.say('mail.reset.text'),
    resetLink(texts, url, token),
    texts.say('mail.reset.token'),
    token,
    texts.say('mail.reset.ignore'),
  ])
}

function resetLink(texts: Texts, url: string, token: string) {
  const link = `${url}/reset-password?token=${encodeURIComponent(token)}`
  return { link, label: texts.say('mail.reset.link') }
}

export function accountDeletionMail(to: Recipient, deleteAt: Date): Mail {
  return write(to, (texts) => [
    texts.say('mail.deletion.subject'),
    hello(texts, to),
    texts.say('mail.deletion.text', { day: texts.day(deleteAt.getTime()) }),
    texts.say('mail.deletion.keep'),
    texts.say('mail.deletion.ignore'),
  ])
}

/** Account changes that are reported to the owner, to reveal unauthorized access. */
export type SecurityEvent =
  | {
      readonly kind: 'password_changed'
      /** The API keys that still work. */
      readonly keys: readonly { readonly name: string; readonly prefix: string; readonly lastUsedAt: string | null }[]
    }
  | { readonly kind: 'api_key_created' }
  | { readonly kind: 'api_key_added'; readonly key: string }
  | { readonly kind: 'sign_in_linked'; readonly provider: string }
  | { readonly kind: 'refresh_token_replayed'; readonly device: string }
  | { readonly kind: 'second_factor_on' | 'second_factor_off' | 'second_factor_reset' | 'recovery_codes_renewed' }
  | { readonly kind: 'passkey_added' | 'passkey_deleted'; readonly passkey: string }
  | { readonly kind: 'recovery_code_used'; readonly left: number }

export function securityMail(to: Recipient, event: SecurityEvent): Mail {
  return write(to, (texts) => {
    const values = {
      key: 'key' in event ? quotedName(texts, event.key) : '',
      provider: 'provider' in event ? event.provider : '',
      device: 'device' in event ? event.device : '',
      passkey: 'passkey' in event ? quotedName(texts, event.passkey) : '',
      left: 'left' in event ? event.left : 0,
    }
    return [
      texts.say(`mail.security.${event.kind}.subject`, values),
      hello(texts, to),
      texts.say(`mail.security.${event.kind}.text`, values),
      ...('keys' in event ? keptKeys(texts, event.keys) : []),
      texts.say('mail.security.notYou'),
    ]
  })
}

/** One paragraph for each API key, so that the owner recognizes a stranger's. */
function keptKeys(texts: Texts, keys: Extract<SecurityEvent, { kind: 'password_changed' }>['keys']): string[] {
  if (keys.length === 0) return [texts.say('mail.security.keys.none')]
  const lines = keys.map(({ lastUsedAt, name, prefix }) => {
    const values = { key: quotedName(texts, name), prefix }
    return lastUsedAt === null
      ? texts.say('mail.security.keys.unused', values)
      : texts.say('mail.security.keys.used', { ...values, time: texts.time(Date.parse(lastUsedAt)) })
  })
  return [texts.say('mail.security.keys.kept'), ...lines]
}
