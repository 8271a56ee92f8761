import { platform } from '../platform.ts'
import { oauth } from './oauth.ts'
import { options } from './options.ts'
import { connect, Fields } from './password.ts'
import { capabilities, places, profileOf, revoke } from './profile.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { refusals } from './refusals.ts'
import { rules } from './rules.ts'
import { TITLE } from './site.ts'

/** Sites with WordPress 5.6 or newer, connected by application passwords. */
export const wordpress = platform({
  key: 'wordpress',
  title: TITLE,
  // Every site has its own address. The operator can name one for users who enter none.
  defaults: { apiUrl: '', authUrl: '' },
  credentials: {
    fields: Fields,
    help: 'Sign in to your site and create an application password under Users, Profile, Application Passwords. The site needs https.',
    connect,
  },
  oauth,
  options,
  publishing,
  analytics: {
    accountFigures: [],
    contentFigures: ['comments'],
    audience: [],
    missing: {
      account: 'WordPress has no followers.',
      listing: 'Crier lists no posts of WordPress that were published elsewhere yet.',
      audience: 'Crier reads no audience from this platform.',
    },
  },
  refusals,
  rules,
  reader,
  profile: profileOf,
  revoke,
  capabilities,
  places,
})
