import { analytics } from './analytics.ts'
import { platform } from '../platform.ts'
import { oauth, revoke } from './oauth.ts'
import { options } from './options.ts'
import { prices } from './prices.ts'
import { capabilities, profileOf } from './profile.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { refusals } from './refusals.ts'
import { rules } from './rules.ts'
import { TITLE } from './call.ts'

/** X, formerly Twitter: API v2. */
export const x = platform({
  key: 'x',
  title: TITLE,
  registration: {
    url: 'https://console.x.com',
    hint: 'Create an app with OAuth 2.0 as a confidential client (“Web App”), and add the redirect URI <PUBLIC_URL>/api/social-accounts/oauth/x/callback. X charges the app for each post.',
  },
  defaults: { apiUrl: 'https://api.x.com', authUrl: 'https://x.com' },
  oauth,
  options,
  publishing,
  analytics,
  refusals,
  rules,
  prices,
  reader,
  profile: (context) => profileOf(context, context.credential),
  revoke,
  capabilities,
})
