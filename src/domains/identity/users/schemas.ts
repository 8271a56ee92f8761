import {
  Id,
  Input,
  Nullable,
  OneOf,
  ResourceBase,
  Text,
  Timestamp,
  Type,
  named,
  type Static,
} from '../../../core/schema.ts'
import { TimeZone } from '../../../core/time-zone.ts'
import { EmailInput } from './email-address.ts'
import { Locale, NotificationSettings, PublishingSettings, UiPreferences } from './settings.ts'
import { SubscriptionSummary } from './subscription.ts'

/** Description of a `pictureUrl`. */
export const PICTURE_URL =
  'Path on the server of a square picture of 256 pixels. Replace `medium` with `small` or `large` for another size'

export const PICTURE_SIZES = ['small', 'medium', 'large'] as const
export type PictureSize = (typeof PICTURE_SIZES)[number]

const user = {
  ...ResourceBase,
  _id: Id,
  email: Type.String(),
  name: Type.String(),
  bio: Type.String(),
  timezone: Type.String({ description: 'IANA time zone' }),
  locale: Type.String({ description: 'Language tag (BCP 47)' }),
  company: Type.String(),
  pictureUrl: Type.Optional(Type.String({ description: PICTURE_URL })),
  emailVerified: Type.Boolean(),
  isAdmin: Type.Boolean({ description: 'Whether the user is an administrator of the platform' }),
  onboarding: Type.Object({
    step: Nullable(Type.String()),
    completed: Type.Boolean(),
    completedAt: Nullable(Timestamp),
  }),
  apiKeyPrefix: Nullable(Type.String({ description: 'The first characters of the API key; null without one' })),
  subscription: SubscriptionSummary,
  version: Type.Integer(),
}

const apiKey = Type.String({ description: 'The API key. It is shown only once' })

export const UserView = named('User', Type.Object(user))
export type UserData = Static<typeof UserView>

export const UserWithKey = named('UserWithApiKey', Type.Object({ ...user, apiKey }))

export const SettingsView = named(
  'UserSettings',
  Type.Object({
    publishing: PublishingSettings,
    notifications: NotificationSettings,
    ui: UiPreferences,
    version: Type.Integer(),
  }),
)
export type SettingsData = Static<typeof SettingsView>

export const ProfilePicture = named(
  'ProfilePicture',
  Type.Object({
    pictureUrl: Type.String({ description: PICTURE_URL }),
    sizes: Type.Array(
      Type.Object({
        name: OneOf(PICTURE_SIZES),
        url: Type.String({ description: 'Path on the server. Requires no credential' }),
        width: Type.Integer({ description: 'Width and height, in pixels' }),
      }),
    ),
  }),
)
export type ProfilePictureData = Static<typeof ProfilePicture>

export const PicturePath = Input({ pictureId: Id, size: OneOf(PICTURE_SIZES) })

export const UserName = Text(0, 100, { description: 'Display name of the user' })

export const NewUser = Input({ email: EmailInput, name: Type.Optional(UserName) })

export const ProfileChange = Input(
  {
    name: Type.Optional(UserName),
    bio: Type.Optional(Text(0, 1_000)),
    timezone: Type.Optional(TimeZone),
    locale: Type.Optional(Locale),
    company: Type.Optional(Text(0, 200)),
  },
  { minProperties: 1 },
)
export type ProfileChanges = Static<typeof ProfileChange>

export const OnboardingChange = Input({
  step: Type.Optional(Text(1, 60, { description: 'The current step, as named by the front end' })),
  completed: Type.Boolean(),
})
