import { graphReader } from '../meta/replies.ts'
import { platform } from '../platform.ts'
import { analytics } from './analytics.ts'
import { capabilities } from './capabilities.ts'
import { TITLE } from './graph.ts'
import { oauth } from './oauth.ts'
import { options } from './options.ts'
import { profileOf } from './profile.ts'
import { publishing } from './publishing.ts'
import { rules } from './rules.ts'

/** Profiles of Threads. */
export const threads = platform({
  key: 'threads',
  title: TITLE,
  registration: {
    url: 'https://developers.facebook.com/apps',
    hint: 'Create an app with the use case “Access the Threads API”, use its Threads app id and secret, and enter the callback under “Redirect callback URLs”.',
  },
  defaults: { apiUrl: 'https://graph.threads.net', authUrl: 'https://threads.net' },
  oauth,
  options,
  publishing,
  analytics,
  rules,
  reader: graphReader,
  profile: profileOf,
  // The API has no endpoint to revoke a token (2026-11). The page is under “Website permissions”.
  grantsUrl: 'https://www.threads.com/settings/account',
  capabilities,
})
