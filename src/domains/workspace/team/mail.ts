import type { Mail } from '../../../mail/mailer.ts'
import { renderMail, type Block } from '../../../mail/layout.ts'
import { textsFor } from '../../../language/texts.ts'
import { plainText, quotedName } from '../../../mail/user-text.ts'

export interface InvitationMailContents {
  readonly to: string
  readonly workspaceName: string
  readonly inviter: { readonly name: string; readonly email: string }
  readonly role: string
  readonly message: string | null
  readonly token: string
  readonly expiresAt: Date
  readonly publicUrl: string
  /** The language tag of the reader. */
  readonly language: string
}

/** The mail with the token of an invitation. Only a hash of the token is stored. */
export function invitationMail(contents: InvitationMailContents): Mail {
  const { inviter, message, publicUrl, role, to, token } = contents
  const texts = textsFor(contents.language)
  const workspace = quotedName(texts, contents.workspaceName)
  const from = inviter.name === '' ? inviter.email : `${quotedName(texts, inviter.name)} (${inviter.email})`
  const until = texts.time(contents.expiresAt.getTime())
  const blocks: Block[] = [
    texts.say('mail.hello'),
    texts.say('mail.invitation.text', { from, workspace, role: quotedName(texts, role) }),
    ...(message === null ? [] : [texts.say('mail.invitation.message', { message: plainText(message) })]),
    { link: `${publicUrl}/invitations/${token}`, label: texts.say('mail.invitation.link') },
    texts.say('mail.invitation.token'),
    token,
    texts.say('mail.invitation.until', { until, email: to }),
    texts.say('mail.invitation.ignore'),
  ]
  const name = inviter.name === '' ? inviter.email : quotedName(texts, inviter.name)
  return renderMail(to, texts.say('mail.invitation.subject', { from: name, workspace }), blocks, { texts })
}
