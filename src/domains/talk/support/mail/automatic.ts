import type { ReceivedMail } from './read-mail.ts'

/** Senders of delivery reports, which never write mails of their own. */
const MACHINES = /^(mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)([+@-]|$)/i

/**
 * Why a mail was not written by a person: an automatic reply or a bounce (RFC 3834, RFC 3464). Such a mail must not become
 * a reply, or two programs could answer each other for ever. Headers of lists say nothing: an address of a support team is
 * often a list that forwards.
 */
export function automaticReason(mail: ReceivedMail): string | undefined {
  const header = (name: string): string => headerOf(mail, name)
  const submitted = header('auto-submitted')
  if (submitted !== '' && !/^no\b/i.test(submitted)) return 'auto_submitted'
  if (/^\s*<>\s*$/.test(header('return-path'))) return 'bounce'
  if (/multipart\/report|delivery-status|disposition-notification/i.test(header('content-type'))) return 'bounce'
  if (/\b(bulk|junk|auto_reply)\b/i.test(header('precedence'))) return 'bulk'
  if (header('x-autoreply') !== '' || header('x-autorespond') !== '') return 'auto_submitted'
  if (MACHINES.test(mail.from?.value[0]?.address ?? '')) return 'machine'
  return undefined
}

/** A header as it was sent. The parser drops an empty Return-Path, and takes some headers apart. */
function headerOf({ headerLines }: ReceivedMail, name: string): string {
  return (headerLines.find(({ key }) => key === name)?.line ?? '').replace(/^[^:]*:/, '').trim()
}
