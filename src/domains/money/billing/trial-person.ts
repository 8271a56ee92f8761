/** Domains of one provider, under the name that stands for all of them. */
const SAME: Readonly<Record<string, string>> = { 'googlemail.com': 'gmail.com' }
/** Domains whose mailboxes ignore dots. */
const DOTLESS: ReadonlySet<string> = new Set(['gmail.com'])

/**
 * The mailbox that an address belongs to: without the part after a plus sign, and without the dots that Gmail ignores
 * (https://support.google.com/mail/answer/7436150).
 * @param email normalized by `normalizeEmail`
 */
export function personOf(email: string): string {
  const at = email.lastIndexOf('@')
  const given = email.slice(at + 1)
  const domain = SAME[given] ?? given
  const [mailbox = ''] = email.slice(0, at).split('+', 1)
  // An address may begin with its plus sign.
  const name = mailbox === '' ? email.slice(0, at) : mailbox
  return `${DOTLESS.has(domain) ? name.replaceAll('.', '') : name}@${domain}`
}
