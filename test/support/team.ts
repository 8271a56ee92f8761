import type { App } from './app.ts'
import { waitFor } from './wait.ts'

const handedOut = new Set<string>()

/**
 * The token of the next invitation that was mailed to an address; each token is returned once. With several nodes, the
 * node that owns the workspace has mailed it.
 */
export function invitationToken(app: App | readonly App[], address: string): Promise<string> {
  const apps = Array.isArray(app) ? (app as readonly App[]) : [app as App]
  return waitFor(
    async () => {
      const mails = await Promise.all(apps.map((one) => one.outbox.mails(address)))
      for (const mail of mails.flat()) {
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
