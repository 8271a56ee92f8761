import { analytics } from './analytics.ts'
import { platform } from '../platform.ts'
import { connect, deleteSession, Fields } from './app-password.ts'
import { capabilities } from './capabilities.ts'
import { documents } from './oauth-client.ts'
import { sessionOf } from './oauth-session.ts'
import { oauth, revoke } from './oauth.ts'
import { options } from './options.ts'
import { profileOf } from './profile.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { rules } from './rules.ts'
import { servers, TITLE } from './servers.ts'

/** Bluesky, and every other server of the AT Protocol. */
export const bluesky = platform({
  key: 'bluesky',
  title: TITLE,
  defaults: { apiUrl: 'https://bsky.social', authUrl: 'https://bsky.social' },
  servers,
  credentials: {
    fields: Fields,
    help: 'Create an app password in Bluesky under Settings, Privacy and security, App passwords.',
    connect,
  },
  oauth,
  documents,
  options,
  publishing,
  analytics,
  rules,
  reader,
  profile: profileOf,
  revoke: (context) => (sessionOf(context) === undefined ? deleteSession(context) : revoke(context)),
  capabilities,
})
