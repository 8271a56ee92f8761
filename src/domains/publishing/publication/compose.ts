import type { Services } from '../../../core/services.ts'
import { GuardedFetcher } from '../../../fetch/guarded-fetch.ts'
import type { Foundation } from '../../../foundation.ts'
import { Postman } from '../../../mail/postman.ts'
import { numberOf } from '../../../platforms/rules/limits.ts'
import { MediaSources } from './attempts/media-source.ts'
import { Publisher } from './attempts/publisher.ts'
import { PublicationClaims } from './claims/claims.ts'
import { LEASE } from './claims/lease.ts'
import { PublicationPace } from './claims/pace.ts'
import { GuardedLinkPages } from './link-cards/link-pages.ts'
import { shrinkWith } from './link-cards/shrink.ts'
import { PostFigures } from './numbers/analytics.ts'
import { PostCalendar } from './numbers/calendar.ts'
import { PostMetrics } from './numbers/metrics.ts'
import { UpcomingPosts } from './numbers/upcoming.ts'
import { PublicationEvidence } from './outcomes/evidence.ts'
import { PublicationOutcomes } from './outcomes/outcomes.ts'
import { Settlement } from './outcomes/settlement.ts'
import { PreparationClaims } from './preparation/claims.ts'
import { Preparations } from './preparation/finder.ts'
import { Preparer } from './preparation/preparer.ts'
import { SchedulerHeartbeat } from './watch/heartbeat.ts'
import { SchedulerAlerts } from './watch/scheduler-alerts.ts'
import { TargetWatchdog } from './watch/watchdog.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly publication: ReturnType<typeof composePublication>['services']['publication']
  }
}

/** Builds the services that publish posts. Provides the publisher that planning declares. */
export function composePublication(
  { clock, config, database: sql, jobs, log, mediaWork, scratch, turns }: Foundation,
  {
    assets,
    health,
    mailer,
    notifications,
    planning,
    posts: { approvals },
    socialAccounts,
    switches,
  }: Pick<
    Services,
    'assets' | 'health' | 'mailer' | 'notifications' | 'planning' | 'posts' | 'socialAccounts' | 'switches'
  >,
) {
  const { calls, directory } = socialAccounts
  const upcoming = new UpcomingPosts(sql, clock)
  const media = new MediaSources(sql, assets.postFiles)
  const fetcher = GuardedFetcher.of(config.ALLOW_PRIVATE_ADDRESSES)
  const pages = new GuardedLinkPages(fetcher, shrinkWith({ mediaWork, scratch }))
  const publishes = { sql, clock, turns, calls, media, pages, times: LEASE }
  const pace = new PublicationPace(clock, (platform) => {
    const found = directory.find(platform)
    return found && numberOf(directory.limits(found), 'posts.perHour')
  })
  const alerts = new SchedulerAlerts({ database: sql, clock, log, mailer, notifications, postman: new Postman(jobs) })
  const heartbeat = new SchedulerHeartbeat({ sql, clock, log, alerts })
  // Requests are served without the scheduler, so it does not decide whether this node is ready.
  health.register('scheduler', () => heartbeat.look())
  const publisher = new Publisher({ ...publishes, switches })
  planning.publisher.provide(publisher)
  return {
    services: {
      publication: {
        upcoming,
        calendar: new PostCalendar(sql, planning.slots),
        metrics: new PostMetrics(sql, clock, upcoming),
        figures: new PostFigures({ sql, clock, ...socialAccounts }),
        claims: new PublicationClaims({ clock, switches, times: LEASE, approvals, pace }),
        outcomes: new PublicationOutcomes(clock),
        publisher,
        preparationClaims: new PreparationClaims({ clock, switches, times: LEASE, approvals }),
        preparer: new Preparer(publishes),
        preparations: new Preparations(sql, clock, jobs),
        evidence: new PublicationEvidence(sql),
        settlement: new Settlement(clock),
        watchdog: new TargetWatchdog({ sql, clock, jobs, heartbeat }),
        heartbeat,
      },
    },
    start: () => {
      heartbeat.start()
      return Promise.resolve()
    },
    close: () => {
      heartbeat.close()
      return Promise.resolve()
    },
  }
}
