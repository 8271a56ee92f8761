import type { TextKey, Texts, TextValues } from '../../../language/texts.ts'
import { renderMail } from '../../../mail/layout.ts'
import type { Mail } from '../../../mail/mailer.ts'
import { quotedName } from '../../../mail/user-text.ts'

/** What a mail about a ticket says. */
export type TicketMailText = Extract<
  TextKey,
  `mail.support.${'created' | 'createdUnverified' | 'repliedByTeam' | 'repliedToUnverified' | 'repliedByUser' | 'addedUnverified' | 'assigned' | 'closed'}`
>

interface TicketMailContents {
  readonly to: string
  readonly texts: Texts
  readonly text: TicketMailText
  readonly values?: TextValues | undefined
  /** The subject of the ticket. */
  readonly ticket: string
  /** What was written. */
  readonly content?: string | undefined
  /** The address that takes replies to this mail. */
  readonly replyTo?: string | undefined
}

/** A mail to a participant of a ticket. If replies are added to it, it begins with the line above which they are written. */
export function ticketMail({ content, replyTo, text, texts, to, values, ...about }: TicketMailContents): Mail {
  const ticket = quotedName(texts, about.ticket)
  const takesReplies = replyTo !== undefined && text !== 'mail.support.closed'
  const blocks = [
    ...(!takesReplies ? [] : [texts.say('mail.support.replyLine')]),
    texts.say(text, values),
    ...(content === undefined ? [] : [content]),
    texts.say('mail.support.ticket', { ticket }),
  ]
  const mail = renderMail(to, texts.say('mail.support.subject', { ticket }), blocks, { texts })
  return replyTo === undefined ? mail : { ...mail, replyTo }
}
