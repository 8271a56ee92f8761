import type { Mail } from './mailer.ts'
import { renderMail } from './layout.ts'
import { plainName, quotedName } from './user-text.ts'

/** The recipient of a mail. */
export interface Recipient {
  readonly email: string
  readonly name: string
}

const hello = ({ name }: Recipient): string => (name === '' ? 'Hello,' : `Hello ${plainName(name)},`)

/** Anyone can send this mail to any address, so it contains no text from the user. */
export function verificationMail(to: Pick<Recipient, 'email'>, code: string): Mail {
  return renderMail(to.email, `${code} is your Crier code`, [
    'Hello,',
    'Enter this code to confirm your email address. It works for 10 minutes.',
    { code },
    'If you did not sign up for Crier, ignore this mail and do not share the code.',
  ])
}

export function welcomeMail(to: Recipient, url: string): Mail {
  return renderMail(to.email, 'Welcome to Crier', [
    hello(to),
    'Your email address is confirmed and your account is ready.',
    { link: `${url}/docs`, label: 'Open the documentation' },
  ])
}

/** Sent when the user who confirmed the address has not proved to be the one who signed up. */
export function confirmedElsewhereMail(to: Recipient, url: string, token: string): Mail {
  return renderMail(to.email, 'Choose a password for Crier', [
    hello(to),
    'Your email address is confirmed. You confirmed it on a different device than the one used to sign up, so the password and API key from the sign-up were removed. Use this link to choose a new password. It works once, within 30 minutes.',
    resetLink(url, token),
    'If the page asks for the token, it is:',
    token,
  ])
}

export function passwordResetMail(to: Recipient, url: string, token: string): Mail {
  return renderMail(to.email, 'Reset your Crier password', [
    hello(to),
    'We received a request to reset the password of your Crier account. The link works once, within 30 minutes.',
    resetLink(url, token),
    'If the page asks for the token, it is:',
    token,
    'If this was not you, ignore this mail. Your password does not change.',
  ])
}

function resetLink(url: string, token: string) {
  return { link: `${url}/reset-password?token=${encodeURIComponent(token)}`, label: 'Choose a new password' }
}

export function accountDeletionMail(to: Recipient, deleteAt: Date): Mail {
  return renderMail(to.email, 'Your Crier account will be deleted', [
    hello(to),
    `Your Crier account will be deleted on ${deleteAt.toISOString().slice(0, 10)}. All sessions were ended, all API keys were deleted, and your subscription was cancelled.`,
    'To keep the account, sign in before that day and choose to keep it.',
    'If this was not you, reset your password now, sign in and keep the account.',
  ])
}

/** Account changes that are reported to the owner, to reveal unauthorized access. */
export type SecurityEvent =
  | { readonly kind: 'password_changed' }
  | { readonly kind: 'api_key_created' }
  | { readonly kind: 'api_key_added'; readonly key: string }
  | { readonly kind: 'sign_in_linked'; readonly provider: string }
  | { readonly kind: 'refresh_token_replayed'; readonly device: string }

export function securityMail(to: Recipient, event: SecurityEvent): Mail {
  const { subject, text } = describe(event)
  return renderMail(to.email, subject, [
    hello(to),
    text,
    'If this was not you, reset your password now and then create a new API key. This ends all other access.',
  ])
}

function describe(event: SecurityEvent): { subject: string; text: string } {
  if (event.kind === 'password_changed') {
    return {
      subject: 'Your Crier password was changed',
      text: 'The password of your Crier account was changed, and all its sessions were ended.',
    }
  }
  if (event.kind === 'api_key_added') {
    return {
      subject: 'A new Crier API key was created',
      text: `A new API key, ${quotedName(event.key)}, was created for your Crier account. Your other keys remain valid.`,
    }
  }
  if (event.kind === 'api_key_created') {
    return {
      subject: 'A new Crier API key was created',
      text: 'A new API key was created for your Crier account. Your previous key no longer works.',
    }
  }
  if (event.kind === 'sign_in_linked') {
    return {
      subject: `Sign-in with ${event.provider} was added to your Crier account`,
      text: `You can now sign in to your Crier account with ${event.provider}.`,
    }
  }
  return {
    subject: 'A Crier session was ended for security reasons',
    text: `One of your sessions (${event.device}) was ended because one of its tokens was used twice. Someone may have copied the token.`,
  }
}
