import type { Mail } from '../mail/mailer.ts'
import { renderMail, type Block } from '../mail/layout.ts'

export interface InvitationMailContents {
  readonly to: string
  readonly workspaceName: string
  readonly inviter: { readonly name: string; readonly email: string }
  readonly role: string
  readonly message: string | null
  readonly token: string
  readonly expiresAt: Date
  readonly publicUrl: string
}

/** The one place where an invitation's token is written down. */
export function invitationMail(contents: InvitationMailContents): Mail {
  const { inviter, message, publicUrl, role, to, token } = contents
  const workspace = oneLine(contents.workspaceName)
  const name = oneLine(inviter.name)
  const until = `${contents.expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const blocks: Block[] = [
    'Hello,',
    `${name === '' ? inviter.email : `${name} (${inviter.email})`} invites you to the workspace “${workspace}” on Crier, with the role ${oneLine(role)}.`,
    ...(message === null ? [] : [`They write: ${message}`]),
    { link: `${publicUrl}/invitations/${token}`, label: 'Open the invitation' },
    'If you are asked for the token of the invitation, it is:',
    token,
    `The invitation is good until ${until}, for an account with the address ${to}.`,
    'If you do not know who that is, ignore this mail: without you nothing happens.',
  ]
  return renderMail(to, `${name === '' ? inviter.email : name} invites you to ${workspace} on Crier`, blocks)
}

/** Names are other people's text: in a subject they must not begin a new line. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
