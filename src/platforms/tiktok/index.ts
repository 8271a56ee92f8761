import { platform } from '../platform.ts'
import { TITLE } from './api.ts'
import { capabilities } from './capabilities.ts'
import { creatorProblems } from './creator.ts'
import { oauth, profileOf, revoke } from './oauth.ts'
import { options } from './options.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { refusals } from './refusals.ts'
import { rules } from './rules.ts'

/** TikTok, by its Content Posting API. */
export const tiktok = platform({
  key: 'tiktok',
  title: TITLE,
  registration: {
    url: 'https://developers.tiktok.com/apps',
    hint: 'add Login Kit with the redirect URI <PUBLIC_URL>/api/social-accounts/oauth/tiktok/callback, and the Content Posting API with Direct Post and Upload; verify the domain of PUBLIC_URL for photos',
  },
  defaults: { apiUrl: 'https://open.tiktokapis.com', authUrl: 'https://www.tiktok.com' },
  oauth,
  options,
  publishing,
  analytics: {
    accountFigures: [],
    contentFigures: ['views', 'likes', 'comments', 'shares'],
    audience: [],
    missing: {
      account: 'TikTok reports followers only to apps with the scope user.info.stats, which Crier does not ask for.',
      listing: 'Crier lists no videos of TikTok that were published elsewhere.',
      audience: 'Crier reads no audience from this platform.',
    },
  },
  refusals,
  rules,
  reader,
  profile: profileOf,
  revoke,
  capabilities,
  creatorProblems,
})
