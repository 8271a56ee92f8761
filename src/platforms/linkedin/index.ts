import { platform } from '../platform.ts'
import { TITLE } from './api.ts'
import { oauth, revoke } from './oauth.ts'
import { options } from './options.ts'
import { capabilities, childrenOf, profileOf } from './profile.ts'
import { refusals } from './polls.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { rules } from './rules.ts'

/** LinkedIn: members, and the organizations that they administer. */
export const linkedin = platform({
  key: 'linkedin',
  title: TITLE,
  registration: {
    url: 'https://www.linkedin.com/developers/apps',
    hint: 'add the products “Sign In with LinkedIn using OpenID Connect”, “Share on LinkedIn” and “Advertising API” (for organizations), and the redirect URL <PUBLIC_URL>/api/social-accounts/oauth/linkedin/callback',
  },
  defaults: { apiUrl: 'https://api.linkedin.com', authUrl: 'https://www.linkedin.com' },
  oauth,
  options,
  publishing,
  analytics: {
    accountFigures: [],
    contentFigures: ['views', 'reach', 'likes', 'comments', 'shares', 'clicks'],
    audience: [],
    missing: {
      account: 'Crier does not read the followers of a LinkedIn organization yet.',
      listing: 'Crier lists no posts of LinkedIn that were published elsewhere yet.',
      audience: 'Crier reads no audience from this platform.',
    },
  },
  refusals,
  rules,
  reader,
  profile: profileOf,
  revoke,
  capabilities,
  children: childrenOf,
})
