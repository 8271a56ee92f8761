import { platform } from '../platform.ts'
import { TITLE } from './call.ts'
import { oauth, revoke } from './oauth.ts'
import { options } from './options.ts'
import { capabilities, places, profileOf } from './profile.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { rules } from './rules.ts'

/** Reddit: posts to subreddits and to the account's profile. */
export const reddit = platform({
  key: 'reddit',
  title: TITLE,
  registration: {
    url: 'https://www.reddit.com/prefs/apps',
    hint: 'Create an app of the type “web app” with the redirect URI <PUBLIC_URL>/api/social-accounts/oauth/reddit/callback. Since 2025-11 Reddit must approve new apps (Responsible Builder Policy).',
  },
  defaults: { apiUrl: 'https://oauth.reddit.com', authUrl: 'https://www.reddit.com' },
  oauth,
  options,
  publishing,
  analytics: {
    accountFigures: [],
    contentFigures: ['likes', 'comments', 'shares'],
    audience: [],
    missing: {
      account: 'Reddit reports no followers of a user.',
      listing: 'Crier lists no posts of Reddit that were published elsewhere yet.',
      audience: 'Crier reads no audience from this platform.',
    },
  },
  rules,
  reader,
  profile: (context) => profileOf(context, context.credential),
  revoke,
  capabilities,
  // Each answer costs a call for each subreddit with flairs.
  capabilitiesLifeMs: 3_600_000,
  places,
})
