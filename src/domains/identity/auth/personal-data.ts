import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'api_keys.user_id': {
    about: 'Your API keys, without the keys themselves',
    export: { file: 'api-keys', omit: ['key_hash'] },
    deletion: 'deleted',
  },
  'identities.user_id': {
    about: 'Accounts at other providers with which you sign in',
    export: { file: 'sign-in-providers' },
    deletion: 'deleted',
  },
  'sessions.user_id': {
    about: 'Your sign-ins, with address and program',
    export: { file: 'sessions', omit: ['secret'] },
    deletion: 'deleted',
  },
  'one_time_codes.user_id': {
    about: 'The code that confirms your address',
    export: { never: 'It only has internal values that protect your account.' },
    deletion: 'deleted',
  },
  'pending_sign_ups.user_id': {
    about: 'Where you signed up, until your address is confirmed',
    export: { file: 'sign-up', key: ['user_id'] },
    deletion: 'deleted',
  },
  'password_resets.user_id': {
    about: 'Links to choose a new password',
    export: { never: 'It only has internal values that protect your account.' },
    deletion: 'deleted',
  },
  'download_links.user_id': {
    about: 'Links to download a file, for a minute',
    export: { never: 'It only has internal values that protect your account.' },
    deletion: 'deleted',
  },
  'totps.user_id': {
    about: 'The authenticator app with which you sign in',
    export: { file: 'authenticator-app', key: ['user_id'], omit: ['secret_sealed', 'last_step'] },
    deletion: 'deleted',
  },
  'passkeys.user_id': {
    about: 'The passkeys with which you sign in',
    export: { file: 'passkeys', key: ['id'], omit: ['counter'] },
    deletion: 'deleted',
  },
  'recovery_codes.user_id': {
    about: 'The codes that replace your authenticator app',
    export: { never: 'It only has internal values that protect your account.' },
    deletion: 'deleted',
  },
} satisfies PersonalData
