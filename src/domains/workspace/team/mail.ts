import type { Mail } from '../../../mail/mailer.ts'
import { renderMail, type Block } from '../../../mail/layout.ts'
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
}

/** The mail with the token of an invitation. Only a hash of the token is stored. */
export function invitationMail(contents: InvitationMailContents): Mail {
  const { inviter, message, publicUrl, role, to, token } = contents
  const workspace = quotedName(contents.workspaceName)
  const from = inviter.name === '' ? inviter.email : `${quotedName(inviter.name)} (${inviter.email})`
  const until = `${contents.expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const blocks: Block[] = [
    'Hello,',
    `${from} invites you to the workspace ${workspace} on Crier, with the role ${quotedName(role)}.`,
    ...(message === null ? [] : [`They write: “${plainText(message)}”`]),
    { link: `${publicUrl}/invitations/${token}`, label: 'Open the invitation' },
    'If you are asked for the token of the invitation, enter this:',
    token,
    `The invitation is valid until ${until}, for an account with the email address ${to}.`,
    'If you do not know the sender, you can ignore this mail. You will not be added to the workspace.',
  ]
  return renderMail(
    to,
    `${inviter.name === '' ? inviter.email : quotedName(inviter.name)} invites you to ${workspace} on Crier`,
    blocks,
  )
}
