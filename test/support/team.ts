import type { App } from './app.ts'
import { waitFor } from './wait.ts'

const handedOut = new Set<string>()

/** The token of an invitation that was mailed to an address and that nobody has asked for yet; each is given once. */
export function invitationToken(app: App, address: string): Promise<string> {
  return waitFor(
    async () => {
      for (const mail of await app.outbox.mails(address)) {
        const token = /\/invitations\/([\w-]{43})\b/.exec(mail.text ?? '')?.[1]
        if (token === undefined || handedOut.has(token)) continue
        handedOut.add(token)
        return token
      }
      return undefined
    },
    { what: `another invitation to ${address}` },
  )
}
