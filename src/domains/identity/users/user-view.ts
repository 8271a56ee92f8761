import { pictureUrl } from './picture-url.ts'
import type { UserData } from './schemas.ts'
import type { UserRow } from './tables.ts'

/** The API's view of a user. */
export function userView(row: UserRow, subscription: UserData['subscription'], apiKeyPrefix: string | null): UserData {
  return {
    _id: row.id,
    email: row.email,
    name: row.name,
    bio: row.bio,
    timezone: row.timezone,
    locale: row.locale,
    company: row.company,
    ...(row.pictureId === null ? {} : { pictureUrl: pictureUrl(row.pictureId) }),
    emailVerified: row.emailVerified,
    isAdmin: row.isAdmin,
    onboarding: {
      step: row.onboardingStep,
      completed: row.onboardingCompletedAt !== null,
      completedAt: row.onboardingCompletedAt,
    },
    apiKeyPrefix,
    subscription,
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}
