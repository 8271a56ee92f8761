import { analytics } from './analytics.ts'
import { platform } from '../platform.ts'
import { TITLE } from './api.ts'
import { capabilities, profileOf } from './channel.ts'
import { oauth, revoke } from './oauth.ts'
import { options } from './options.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { refusals } from './refusals.ts'
import { rules } from './rules.ts'

/** YouTube, by the Data API. */
export const youtube = platform({
  key: 'youtube',
  title: TITLE,
  registration: {
    url: 'https://console.cloud.google.com/apis/credentials',
    hint: 'enable the YouTube Data API v3, create an OAuth client of the type “Web application” with the redirect URI <PUBLIC_URL>/api/social-accounts/oauth/youtube/callback, and publish the consent screen: in testing, access ends after 7 days',
  },
  defaults: { apiUrl: 'https://www.googleapis.com', authUrl: 'https://accounts.google.com' },
  oauth,
  options,
  publishing,
  analytics,
  refusals,
  rules,
  reader,
  profile: profileOf,
  revoke,
  capabilities,
})
