import type { Coordination } from '../../../coordination/coordination.ts'

/** What was revoked: one session, or all credentials of a user (sessions, API keys, rights). */
export type CredentialNotice =
  | { readonly kind: 'session'; readonly userId: string; readonly sessionId: string }
  | { readonly kind: 'user'; readonly userId: string }

const CHANNEL = 'credentials'

/** Tells every node that a credential was revoked or that its rights have changed. Call it after the commit. */
export function announceCredentials(coordination: Coordination, notice: CredentialNotice): void {
  coordination.publish(CHANNEL, notice)
}

/** Subscribes to revoked credentials. @returns a function that unsubscribes */
export function onCredentials(coordination: Coordination, listener: (notice: CredentialNotice) => void): () => void {
  return coordination.subscribe(CHANNEL, (message) => listener(message as CredentialNotice))
}
