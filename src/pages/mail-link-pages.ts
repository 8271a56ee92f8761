import { GUARDED } from '../http/page.ts'
import { served } from './served-file.ts'
import type { Page } from '../http/server.ts'

/**
 * The pages that links in mails open, and the page that adds a passkey. They call the API, and are for installations
 * without a front end.
 */
export function mailLinkPages(): Page[] {
  return [
    served('/reset-password', 'reset-password.html', GUARDED),
    served('/invitations/:token', 'invitation.html', GUARDED),
    served('/passkey', 'passkey.html', GUARDED),
    ...['api.js', 'appearance.js', 'sign-in.js', 'reset-password.js', 'invitation.js', 'passkey.js', 'page.css'].map(
      (file) => served(`/pages/${file}`, file, GUARDED),
    ),
  ]
}
