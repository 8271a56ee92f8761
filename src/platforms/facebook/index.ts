import { analytics } from './analytics.ts'
import { PlatformError } from '../error-kinds.ts'
import { graphReader } from '../meta/replies.ts'
import { platform } from '../platform.ts'
import { capabilities } from './capabilities.ts'
import { call, TITLE } from './graph.ts'
import { oauth } from './oauth.ts'
import { options } from './options.ts'
import { pages } from './pages.ts'
import { pageOf, profileOf } from './profile.ts'
import { publishing } from './publishing.ts'
import { refusals } from './refusals.ts'
import { rules } from './rules.ts'

/** Pages of Facebook. The login of a user is an account too; its pages are its children. */
export const facebook = platform({
  key: 'facebook',
  title: TITLE,
  registration: {
    url: 'https://developers.facebook.com/apps',
    hint: 'Create an app with Facebook Login, enter the callback under “Valid OAuth Redirect URIs”, and request the permissions of pages in the app review.',
  },
  defaults: { apiUrl: 'https://graph.facebook.com', authUrl: 'https://www.facebook.com' },
  oauth,
  options,
  publishing,
  analytics,
  refusals,
  rules,
  reader: graphReader,
  profile: profileOf,
  revoke: async (context) => {
    // The grant belongs to the login. Disconnecting one page must not end the others.
    if (pageOf(context.credential) !== undefined) return
    try {
      await call(context, 'me/permissions', { method: 'DELETE' })
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind !== 'auth_expired') throw error
    }
  },
  capabilities,
  children: pages,
})
