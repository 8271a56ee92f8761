import { Migration } from '@mikro-orm/migrations'
import { analytics } from './baseline/analytics.ts'
import { ai } from './baseline/ai.ts'
import { assetCounts } from './baseline/asset-counts.ts'
import { billing } from './baseline/billing.ts'
import { content } from './baseline/content.ts'
import { identity } from './baseline/identity.ts'
import { infrastructure } from './baseline/infrastructure.ts'
import { live } from './baseline/live.ts'
import { media } from './baseline/media.ts'
import { money } from './baseline/money.ts'
import { notifications } from './baseline/notifications.ts'
import { payments } from './baseline/payments.ts'
import { postCounts } from './baseline/post-counts.ts'
import { publishing } from './baseline/publishing.ts'
import { searchFunctions } from './baseline/search-functions.ts'
import { social } from './baseline/social.ts'
import { studio } from './baseline/studio.ts'
import { talk } from './baseline/talk.ts'
import { workspace } from './baseline/workspace.ts'

/** The schema of version 0.1.0. */
export class Baseline extends Migration {
  override up(): void {
    const statements = [
      infrastructure,
      identity,
      workspace,
      money,
      payments,
      billing,
      searchFunctions,
      talk,
      media,
      assetCounts,
      live,
      social,
      publishing,
      postCounts,
      notifications,
      analytics,
      ai,
      content,
      studio,
    ].flat()
    for (const statement of statements) this.addSql(statement)
  }
}
