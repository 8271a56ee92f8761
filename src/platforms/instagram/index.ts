import { analytics } from './analytics.ts'
import { graphReader } from '../meta/replies.ts'
import { platform } from '../platform.ts'
import { capabilities } from './capabilities.ts'
import { TITLE } from './graph.ts'
import { oauth } from './oauth.ts'
import { options } from './options.ts'
import { profileOf } from './profile.ts'
import { publishing } from './publishing.ts'
import { refusals } from './refusals.ts'
import { rules } from './rules.ts'

/** Business and creator accounts of Instagram, by Instagram Login: without a page of Facebook. */
export const instagram = platform({
  key: 'instagram',
  title: TITLE,
  registration: {
    url: 'https://developers.facebook.com/apps',
    hint: 'Create an app, add “API setup with Instagram login”, use its Instagram app id and secret, and enter the callback under “Business login settings”.',
  },
  defaults: { apiUrl: 'https://graph.instagram.com', authUrl: 'https://www.instagram.com' },
  oauth,
  options,
  publishing,
  analytics,
  refusals,
  rules,
  reader: graphReader,
  profile: profileOf,
  // The reference of Instagram Login has no endpoint to revoke a token (2026-11).
  grantsUrl: 'https://www.instagram.com/accounts/manage_access/',
  capabilities,
})
