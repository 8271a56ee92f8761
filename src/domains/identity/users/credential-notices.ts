import type { Coordination } from '../../../coordination/coordination.ts'

/** What stops working now. Everything of the user: sessions, API key, rights. */
export type CredentialNotice =
  | { readonly kind: 'session'; readonly userId: string; readonly sessionId: string }
  | { readonly kind: 'user'; readonly userId: string }

const CHANNEL = 'credentials'

/** Tells every node that a credential was revoked or that what it stands for has changed. Call it after the commit. */
export function announceCredentials(coordination: Coordination, notice: CredentialNotice): void {
  coordination.publish(CHANNEL, notice)
}

/** Hears of revoked credentials. @returns how to stop listening */
export function onCredentials(coordination: Coordination, listener: (notice: CredentialNotice) => void): () => void {
  return coordination.subscribe(CHANNEL, (message) => listener(message as CredentialNotice))
}
