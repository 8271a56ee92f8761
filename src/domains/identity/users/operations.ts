import { PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { created, ok } from '../../../core/reply.ts'
import { Envelope, type Static } from '../../../core/schema.ts'
import { EmailInUse } from './errors.ts'
import { NewUser, OnboardingChange, ProfileChange, SettingsView, UserView, UserWithKey } from './schemas.ts'
import { NotificationChange, PublishingChange, UiChange } from './settings.ts'

export * from './picture-operations.ts'

export const createUserWithApiKey = operation({
  route: 'POST /api/users',
  summary: 'Create a user with an API key',
  description:
    'The address counts as confirmed. The user has no password until one is set through POST /api/auth/forgot-password.',
  access: 'admin',
  body: NewUser,
  returns: { 201: Envelope(UserWithKey) },
  errors: [EmailInUse],
  example: { body: { email: 'grace@example.com', name: 'Grace Hopper' } },
  handle: async ({ body, users }) => created('User created', await users.accounts.createWithApiKey(body)),
})

export const getProfile = operation({
  route: 'GET /api/users/me',
  summary: 'Get your profile',
  access: 'user',
  unconfirmed: true,
  limitedKeys: true,
  returns: { 200: Envelope(UserView) },
  etag: true,
  example: {},
  handle: async ({ caller, users }) => ok('Profile', await users.accounts.profile(caller)),
})

export const updateProfile = operation({
  route: 'PATCH /api/users/me',
  summary: 'Update your profile',
  access: 'user',
  body: ProfileChange,
  returns: { 200: Envelope(UserView) },
  errors: [PreconditionFailed],
  etag: true,
  example: { body: { name: 'Ada Lovelace', timezone: 'Europe/London', locale: 'en-GB' } },
  handle: async ({ body, caller, ifMatch, users }) =>
    ok('Profile changed', await users.accounts.updateProfile(caller, body, ifMatch)),
})

export const getSettings = operation({
  route: 'GET /api/users/me/settings',
  summary: 'Get your settings',
  description: 'Settings that were never set have their defaults.',
  access: 'user',
  returns: { 200: Envelope(SettingsView) },
  etag: true,
  example: {},
  handle: async ({ caller, users }) => ok('Settings', await users.accounts.settings(caller)),
})

/** Shared by the operations that change settings. */
const CHANGING = {
  access: 'user',
  returns: { 200: Envelope(SettingsView) },
  errors: [PreconditionFailed],
  etag: true,
} as const

/** A setting that is accepted must have an effect. @throws AppError validation_failed */
function requireNoShortener({ linkShortening }: Static<typeof PublishingChange>): void {
  if (linkShortening?.enabled !== true) return
  const message =
    'must be false: this server has no link shortener. You can write short links of another service in your posts'
  throw ValidationFailed({ errors: [{ path: '/body/linkShortening/enabled', code: 'unavailable', message }] })
}

export const updatePublishingSettings = operation({
  ...CHANGING,
  route: 'PATCH /api/users/me/settings/publishing',
  summary: 'Update your publishing settings',
  description:
    'Objects are merged with the stored settings. Lists are replaced. They fill in what new posts leave out: see createPost. Existing posts, imports and drafts of ideas are not changed. `autoRetry` also applies to posts that are already waiting. `linkShortening` cannot be enabled on this server.',
  body: PublishingChange,
  example: { body: { utm: { enabled: true }, queueSlots: [{ weekday: 'monday', time: '09:30' }] } },
  handle: async ({ body, caller, ifMatch, users }) => {
    requireNoShortener(body)
    return ok('Settings changed', await users.accounts.updateSettings(caller, 'publishing', body, ifMatch))
  },
})

export const updateNotificationSettings = operation({
  ...CHANGING,
  route: 'PATCH /api/users/me/settings/notifications',
  summary: 'Update your notification settings',
  description: 'Mails about the security of the account are always sent.',
  body: NotificationChange,
  example: { body: { kinds: { comment: { email: true } }, quietHours: { enabled: true, start: '21:00' } } },
  handle: async ({ body, caller, ifMatch, users }) =>
    ok('Settings changed', await users.accounts.updateSettings(caller, 'notifications', body, ifMatch)),
})

export const updateUiPreferences = operation({
  ...CHANGING,
  route: 'PATCH /api/users/me/settings/ui',
  summary: 'Update your interface preferences',
  description:
    '`language` is the language of your mails and notifications. `theme` and `density` change the pages of this server while they know you, such as /billing, whose language is the one of the browser. `calendarStartDay` is where weeks of analytics begin.',
  body: UiChange,
  example: { body: { theme: 'dark', calendarStartDay: 'sunday' } },
  handle: async ({ body, caller, ifMatch, users }) =>
    ok('Preferences changed', await users.accounts.updateSettings(caller, 'ui', body, ifMatch)),
})

export const completeOnboarding = operation({
  route: 'PATCH /api/users/me/onboarding',
  summary: 'Update your onboarding progress',
  access: 'user',
  body: OnboardingChange,
  returns: { 200: Envelope(UserView) },
  errors: [PreconditionFailed],
  etag: true,
  example: { body: { step: 'connect-account', completed: true } },
  handle: async ({ body, caller, ifMatch, users }) => ok('Noted', await users.accounts.onboard(caller, body, ifMatch)),
})
