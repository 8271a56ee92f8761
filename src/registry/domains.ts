import type { Domain } from '../domain.ts'
import { apps } from '../domains/content/apps/domain.ts'
import { blog } from '../domains/content/blog/domain.ts'
import { books } from '../domains/content/books/domain.ts'
import { apiKeys } from '../domains/identity/auth/api-keys/domain.ts'
import { passkeys } from '../domains/identity/auth/passkeys/domain.ts'
import { secondFactor } from '../domains/identity/auth/second-factor/domain.ts'
import { auth } from '../domains/identity/auth/domain.ts'
import { dataRights } from '../domains/identity/data-rights/domain.ts'
import { users } from '../domains/identity/users/domain.ts'
import { destinations } from '../domains/live/destinations/domain.ts'
import { mediaLink } from '../domains/live/media-link/domain.ts'
import { mediaNodes } from '../domains/live/media-nodes/domain.ts'
import { playout } from '../domains/live/playout/domain.ts'
import { previews } from '../domains/live/previews/domain.ts'
import { recording } from '../domains/live/recording/domain.ts'
import { sessionFigures } from '../domains/live/session-figures/domain.ts'
import { streams } from '../domains/live/streams/domain.ts'
import { socialAccounts } from '../domains/social/accounts/domain.ts'
import { keys } from '../domains/social/accounts/keys/domain.ts'
import { limits } from '../domains/social/accounts/limits/domain.ts'
import { platforms } from '../domains/social/platforms/domain.ts'
import { ai } from '../domains/media/ai/domain.ts'
import { assets } from '../domains/media/assets/domain.ts'
import { studio } from '../domains/media/studio/domain.ts'
import { uploads } from '../domains/media/assets/uploads/domain.ts'
import { billing } from '../domains/money/billing/domain.ts'
import { invoices } from '../domains/money/invoices/domain.ts'
import { ledger } from '../domains/money/ledger/domain.ts'
import { payments } from '../domains/money/payments/domain.ts'
import { plans } from '../domains/money/plans/domain.ts'
import { analytics } from '../domains/publishing/analytics/domain.ts'
import { calendarFeeds } from '../domains/publishing/calendar-feeds/domain.ts'
import { approvals } from '../domains/publishing/approvals/domain.ts'
import { reports } from '../domains/publishing/reports/domain.ts'
import { calendar } from '../domains/publishing/calendar/domain.ts'
import { planning } from '../domains/publishing/planning/domain.ts'
import { posts } from '../domains/publishing/posts/domain.ts'
import { publication } from '../domains/publishing/publication/domain.ts'
import { remote } from '../domains/publishing/remote/domain.ts'
import { writing } from '../domains/publishing/writing/domain.ts'
import { health } from '../domains/system/health/domain.ts'
import { internal } from '../domains/system/internal/domain.ts'
import { switches } from '../domains/system/switches/domain.ts'
import { chat } from '../domains/talk/chat/domain.ts'
import { ideas } from '../domains/talk/ideas/domain.ts'
import { support } from '../domains/talk/support/domain.ts'
import { notifications } from '../domains/talk/notifications/domain.ts'
import { webhooks } from '../domains/talk/webhooks/domain.ts'
import { team } from '../domains/workspace/team/domain.ts'
import { workspaces } from '../domains/workspace/workspaces/domain.ts'
import { queue } from '../jobs/domain.ts'
import { foundation } from './foundation.ts'

/**
 * Every domain of the service, after what the layers declare. A domain can import only domains that are listed before
 * it (`test/boundaries.test.ts`).
 */
export const domains = [
  foundation,
  queue,
  switches,
  health,
  users,
  plans,
  ledger,
  payments,
  invoices,
  auth,
  apiKeys,
  secondFactor,
  passkeys,
  workspaces,
  notifications,
  socialAccounts,
  limits,
  keys,
  platforms,
  assets,
  uploads,
  internal,
  apps,
  blog,
  books,
  calendar,
  posts,
  planning,
  writing,
  publication,
  remote,
  approvals,
  calendarFeeds,
  analytics,
  ai,
  studio,
  chat,
  reports,
  ideas,
  support,
  webhooks,
  mediaNodes,
  destinations,
  streams,
  recording,
  playout,
  previews,
  sessionFigures,
  mediaLink,
  team,
  billing,
  dataRights,
] as const satisfies readonly Domain[]

/** What each domain is about, by its name: shown in the documentation and in the help of the command line. */
export const DOMAINS: Readonly<Record<string, string>> = Object.fromEntries(
  domains.flatMap(({ name, about }: Domain) => (about === undefined ? [] : [[name, about]])),
)
