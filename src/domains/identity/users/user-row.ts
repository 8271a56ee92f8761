import { pictureUrl } from './picture-url.ts'
import type { UserData } from './schemas.ts'
import type { StoredSettings } from './settings.ts'

/** A user as prepared SQL reads it. */
export interface UserRow {
  id: string
  email: string
  email_verified: boolean
  password_hash: string | null
  name: string
  bio: string
  timezone: string
  locale: string
  company: string
  picture_id: string | null
  is_admin: boolean
  onboarding_step: string | null
  onboarding_completed_at: string | null
  settings: StoredSettings
  settings_version: number
  version: number
  created_at: string
  updated_at: string
}

/** What the API shows of a user. */
export function userView(row: UserRow, subscription: UserData['subscription'], apiKeyPrefix: string | null): UserData {
  return {
    _id: row.id,
    email: row.email,
    name: row.name,
    bio: row.bio,
    timezone: row.timezone,
    locale: row.locale,
    company: row.company,
    ...(row.picture_id === null ? {} : { pictureUrl: pictureUrl(row.picture_id) }),
    emailVerified: row.email_verified,
    isAdmin: row.is_admin,
    onboarding: {
      step: row.onboarding_step,
      completed: row.onboarding_completed_at !== null,
      completedAt: row.onboarding_completed_at,
    },
    apiKeyPrefix,
    subscription,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
