import { platform } from '../platform.ts'
import { TITLE } from './api.ts'
import { capabilities, createPlace, places } from './boards.ts'
import { oauth, profileOf } from './oauth.ts'
import { options } from './options.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { rules } from './rules.ts'

/** Pinterest. It has no call that ends a grant: tokens end by themselves, or in the settings of the account. */
export const pinterest = platform({
  key: 'pinterest',
  title: TITLE,
  registration: {
    url: 'https://developers.pinterest.com/apps/',
    hint: 'add the redirect URI <PUBLIC_URL>/api/social-accounts/oauth/pinterest/callback. With trial access, set PINTEREST_API_URL to https://api-sandbox.pinterest.com: only standard access can publish',
  },
  defaults: { apiUrl: 'https://api.pinterest.com', authUrl: 'https://www.pinterest.com' },
  oauth,
  options,
  publishing,
  analytics: {
    accountFigures: [],
    contentFigures: ['views', 'likes', 'comments', 'saves', 'clicks'],
    audience: [],
    missing: {
      account: 'Crier does not read the followers of a Pinterest account yet.',
      listing: 'Crier lists no Pins that were published elsewhere yet.',
      audience: 'Crier reads no audience from this platform.',
    },
  },
  rules,
  reader,
  profile: profileOf,
  // The API (v5, 2026-11) has no endpoint to revoke a token.
  grantsUrl: 'https://www.pinterest.com/settings/security',
  capabilities,
  places,
  createPlace,
})
